"""Errands: what programs ask of the agent. Each is a run like any other, followed to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec

from nanobot.agent.lanes import Lanes
from nanobot.agent.states import RunKind, RunState
from nanobot.bus.core import Bus, Subscription
from nanobot.bus.events import Address, EventKind, InboundMessage, Role, RunEvent
from nanobot.bus.gate import MAX_TEXT, clean
from nanobot.errors import NanobotError, RunConflict, UsageError
from nanobot.journal import Admission, Ending, Outcome
from nanobot.ports import Clock

_LOOK_SECONDS = 1.0

ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.ABORTED})


class Errands:
    """Asks for runs in the lanes of an agent, by messages that bring the run's id with them.

    `attends` says whether the asker has to drive the lane itself, because nobody else serves.
    """

    def __init__(self, bus: Bus, lanes: Lanes, clock: Clock, attends: Callable[[], bool]) -> None:
        self._bus = bus
        self._lanes = lanes
        self._clock = clock
        self._attends = attends

    @asynccontextmanager
    async def followed(
        self, message: InboundMessage, session_key: str
    ) -> AsyncIterator[AsyncIterator[RunEvent]]:
        """Ask, and follow the run to its end: the last event is the one of kind `end`.

        Whoever asks for a known id follows the run that has it. Raises RunConflict when that was
        asked for with other input. Whoever leaves early leaves the run as it is: it goes on with
        whoever serves its lane next.
        """
        run_id = message.dedupe_key
        watching = self._bus.subscribe(session_key)
        try:
            await self._admit(message, session_key)
            work = self._accompany(watching, message.address, run_id)
            company = asyncio.get_running_loop().create_task(work, name=f"errand {run_id}")
            try:
                yield _of_run(watching, run_id)
            finally:
                company.cancel()
                with suppress(asyncio.CancelledError):
                    await company
                self._bus.wake(session_key, RunKind.CHAT)
        finally:
            self._bus.unsubscribe(watching)

    async def outcome(self, address: Address, run_id: str) -> Outcome | None:
        """How far a run has come that was asked for from there."""
        return await self._bus.journal.outcome(address, run_id)

    async def abort(self, address: Address, run_id: str) -> bool:
        """End a run, or take back what was asked, for good. False: it had ended, or is unknown."""
        known = await self.outcome(address, run_id)
        if known is None or known.state in ENDED:
            return False
        partial = self._lanes.partial(known.session_key)
        said = () if partial is None or known.state is RunState.QUEUED else (partial,)
        ending = Ending(state=RunState.ABORTED, bodies=said, error="aborted")
        ended = await self._bus.journal.abort(address, run_id, ending)
        if ended is not None:
            self._bus.stopped(ended)
        self._bus.wake(known.session_key, RunKind.CHAT)
        return True

    async def _admit(self, message: InboundMessage, session_key: str) -> None:
        text = clean(message.text)
        if not (text.strip() or message.attachments) or len(text) > MAX_TEXT:
            raise UsageError(f"a message has 1 to {MAX_TEXT:,} characters")
        asked = msgspec.structs.replace(message, text=text)
        admission = Admission(message=asked, session_key=session_key, role=Role.OWNER)
        (taken,) = await self._bus.admit(message.address.channel, [admission])
        if taken.refused:
            raise NanobotError(f"too much is waiting in {session_key} already; it was not taken")
        if taken.fresh:
            return
        known = await self.outcome(message.address, message.dedupe_key)
        if known is None or known.session_key != session_key or not _same(known.message, asked):
            raise RunConflict(f"run {message.dedupe_key} was asked for with other input")

    async def _accompany(self, watching: Subscription, address: Address, run_id: str) -> None:
        """Serve the lane if nobody does; say that the run ended if nobody here saw it."""
        while True:
            known = await self.outcome(address, run_id)
            if known is None:
                return
            if known.state in ENDED:
                watching.offer(end_of(known, self._clock.now()))
                return
            if not self._attends() or not await self._lanes.attend(known.session_key):
                await self._clock.sleep(_LOOK_SECONDS)


def end_of(known: Outcome, at: float) -> RunEvent:
    """The last event of a run, from what is recorded."""
    return RunEvent(
        run_id=known.run_id,
        session_key=known.session_key,
        model_call=known.usage.model_calls,
        seq=0,
        kind=EventKind.END,
        at=at,
        payload={"state": str(known.state), "text": known.text, "error": known.error},
    )


def _same(known: InboundMessage, asked: InboundMessage) -> bool:
    return (known.text, known.terms) == (asked.text, asked.terms)


async def _of_run(watching: Subscription, run_id: str) -> AsyncIterator[RunEvent]:
    async for event in watching:
        if event.run_id == run_id:
            yield event
            if event.kind is EventKind.END:
                return


class Spoken:
    """The text of a run's model calls as it streams. A watcher may lose events; what is missing
    of a call is made up for at its end."""

    def __init__(self) -> None:
        self._call = 0
        self._said = ""

    def heard(self, event: RunEvent) -> str:
        """What this event adds."""
        if event.model_call != self._call:
            self._call, self._said = event.model_call, ""
        if event.kind is EventKind.MODEL_DELTA:
            piece = str(event.payload.get("text", ""))
            self._said += piece
            return piece
        if event.kind is EventKind.ASSISTANT_MESSAGE:
            whole = str(event.payload.get("text", ""))
            missing = whole.removeprefix(self._said) if whole.startswith(self._said) else ""
            self._said = whole
            return missing
        return ""
