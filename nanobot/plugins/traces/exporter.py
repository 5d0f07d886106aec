"""Sends the spans of ended runs, continuing from the last position.

The position is a row in the store. So nothing is lost while a collector is unavailable. Only spans
in transit when the process ended are sent twice; they have the same ids and count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.plugins.common.collector import NotTaken
from nanobot.plugins.traces.content import Content
from nanobot.plugins.traces.sampling import Sampler
from nanobot.plugins.traces.span import Span
from nanobot.plugins.traces.spans import kept_of, spans_of
from nanobot.plugins.traces.store import Progress, TracedRuns
from nanobot.ports import Clock

_STATE = "traces"
_SPANS_AT_ONCE = 512
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
_OPEN_AT_ONCE = 500
_MOST_OPEN = 10_000


class Takes(Protocol):
    """A receiver of spans."""

    async def take(self, spans: Sequence[Span]) -> str:
        """Accept these; returns a complaint, if any. Raises NotTaken."""


class Keeps(Protocol):
    """Stores a row by its name; see store.trigger_state."""

    async def kept(self, name: str) -> bytes | None:
        """The stored text; None if there is none. Raises StoreError."""

    async def keep(self, name: str, body: bytes) -> None:
        """Store a text. Raises StoreError."""


class Exporter:
    """Sends the spans of a store's runs to a collector."""

    def __init__(  # noqa: PLR0913 - each is a part of its own
        self,
        runs: TracedRuns,
        state: Keeps,
        collector: Takes,
        clock: Clock,
        interval: float,
        sampler: Sampler = Sampler(),  # noqa: B008 - frozen
        content: Content = Content(),  # noqa: B008 - frozen
    ) -> None:
        self._sampler = sampler
        self._content = content
        self._runs = runs
        self._state = state
        self._collector = collector
        self._clock = clock
        self._interval = interval
        self._told = ""

    async def run(self) -> None:
        """Send as long as the gateway serves."""
        pause = _FIRST_PAUSE
        while True:
            wait, left = self._interval, None
            with boundary("sending traces"):
                try:
                    while await self.send_some():
                        pass
                    pause, self._told = _FIRST_PAUSE, ""
                except NotTaken as error:
                    left = error
            if left is not None:
                wait = pause if left.pause is None else left.pause
                pause = min(pause * 2, _LONGEST_PAUSE)
                self._tell(str(left))
            await self._clock.sleep(wait)

    def _tell(self, why: str) -> None:
        """Log each reason once, until spans are accepted again."""
        if why != self._told:
            logger.warning("traces are not sent ({}); they are kept and sent later", why)
            self._told = why

    async def send_some(self) -> bool:
        """Send the next ended runs. Returns False if there are none. Raises NotTaken and
        StoreError.
        """
        progress = await self.progress()
        following = await self._runs.following(progress)
        among = (*progress.open, *following)
        ended: list[str] = []
        for first in range(0, len(among), _OPEN_AT_ONCE):
            ended += await self._runs.ended(among[first : first + _OPEN_AT_ONCE])
        done = set[str]()
        try:
            await self._send(ended, done)
        finally:
            if following or done:
                after = following[-1] if following else progress.after
                left = tuple(run_id for run_id in among if run_id not in done)
                await self._keep(Progress(after, await self._still_there(left)))
        return bool(following)

    async def progress(self) -> Progress:
        """The current position. The first time, earlier runs are not sent."""
        kept = await self._state.kept(_STATE)
        if kept is not None:
            try:
                return msgspec.json.decode(kept, type=Progress)
            except msgspec.DecodeError as error:
                logger.warning("traces begin anew: how far they were cannot be read ({})", error)
        progress = Progress(await self._runs.newest())
        await self._keep(progress)
        return progress

    async def _keep(self, progress: Progress) -> None:
        await self._state.keep(_STATE, msgspec.json.encode(progress))

    async def _still_there(self, left: tuple[str, ...]) -> tuple[str, ...]:
        """Runs are erased with their sessions. If too many never end, the oldest are dropped."""
        there: list[str] = []
        for first in range(0, len(left), _OPEN_AT_ONCE):
            there += await self._runs.there(left[first : first + _OPEN_AT_ONCE])
        return tuple(sorted(there)[-_MOST_OPEN:])

    async def _send(self, ended: Sequence[str], done: set[str]) -> None:
        """Send the spans of these runs, several in one request; those that were sent are added to
        `done`."""
        together: list[str] = []
        spans: list[Span] = []
        for run_id in ended:
            spans += await self._spans(run_id)
            together.append(run_id)
            if len(spans) >= _SPANS_AT_ONCE or run_id == ended[-1]:
                for first in range(0, len(spans), _SPANS_AT_ONCE):
                    await self._give(spans[first : first + _SPANS_AT_ONCE])
                done.update(together)
                together, spans = [], []

    async def _spans(self, run_id: str) -> list[Span]:
        traced = await self._runs.read(run_id)
        if traced is None or not self._sampler.takes(run_id, kept_of(traced.entries)):
            return []
        with boundary(f"the trace of run {run_id}"):
            return spans_of(traced.run, traced.entries, traced.sent, self._content)
        return []

    async def _give(self, spans: Sequence[Span]) -> None:
        """Send these, in smaller pieces if they are too many for the collector."""
        try:
            complaint = await self._collector.take(spans)
        except NotTaken as error:
            if error.too_large and len(spans) > 1:
                half = len(spans) // 2
                await self._give(spans[:half])
                await self._give(spans[half:])
                return
            if not error.useless:
                raise
            complaint = str(error)
        if complaint:
            trace = spans[0].trace
            logger.warning("the collector left out spans of trace {}: {}", trace, complaint[:500])
