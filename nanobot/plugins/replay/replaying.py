"""Replays a log without models and tools, and compares each request and step with the log.

Pure: recorded replies and results replace models and tools, so that only this program can differ. A
replay counts and names entries that it cannot compare, and never skips them silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from nanobot.agent import step
from nanobot.agent.context import request_digest, request_of
from nanobot.messages import RunOptions
from nanobot.providers.base import ModelRequest
from nanobot.session.entries import (
    Body,
    CancelEntry,
    Entry,
    ErasedEntry,
    ModelCallEntry,
    ReplyEntry,
    ToolResultEntry,
    UserEntry,
)
from nanobot.session.runs import PromptSnapshot

_MOST = 2**31
# The limits of a run are configuration, and not in the log: here they end nothing.
_NO_LIMITS = step.StepLimits(
    max_iterations=_MOST, max_tool_rounds=_MOST, max_tool_calls=_MOST, max_run_seconds=float(_MOST)
)
_AS_CONFIGURED = RunOptions()

Builder: TypeAlias = Callable[
    [Sequence[Entry], PromptSnapshot, ModelCallEntry, RunOptions], ModelRequest
]
"""What makes a request of a log."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first thing that came out otherwise: entry, run, field, and both values."""

    entry: int
    run_id: str
    field: str
    logged: str
    replayed: str


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a replay."""

    runs: int = 0
    requests: dict[int, str] = {}
    """Digests of requests by entry."""
    compared: int = 0
    """Those with a digest in the log."""
    steps: int = 0
    """Entries that the step function had to produce."""
    skipped: tuple[str, ...] = ()
    """The entries that were not compared, with reasons."""
    difference: Difference | None = None


class _Run:
    """What a replay knows of one run so far."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.cancelled = False
        self.erased = False

    @property
    def options(self) -> RunOptions:
        messages = (e.body for e in self.entries if isinstance(e.body, UserEntry))
        return next((m.options for m in messages if m.options is not None), _AS_CONFIGURED)


class _Replay:
    """One walk over a log."""

    def __init__(
        self,
        entries: Sequence[Entry],
        snapshots: Mapping[str, PromptSnapshot],
        only_run: str,
        builder: Builder,
    ) -> None:
        self._builder = builder
        self._entries = entries
        self._snapshots = snapshots
        self._only = only_run
        self._runs: dict[str, _Run] = {}
        self._expected: dict[tuple[str, int], str] = {}
        self._erased = [entry.seq for entry in entries if _unreadable(entry)]
        self._sound = {name for name, kept in snapshots.items() if kept.digest == name}
        self.requests: dict[int, str] = {}
        self.skipped: list[str] = []
        self.compared = self.steps = 0
        for entry in entries:
            if isinstance(entry.body, ReplyEntry) and entry.body.request:
                self._expected[entry.run_id, entry.body.call] = entry.body.request

    def walk(self) -> Iterator[Difference]:
        """Every difference, in the order of the log."""
        for position, entry in enumerate(self._entries):
            run = self._runs.setdefault(entry.run_id, _Run())
            if self._only in ("", entry.run_id):
                yield from self._step(run, entry)
                yield from self._request(run, position, entry)
            run.entries.append(entry)
            run.cancelled |= isinstance(entry.body, CancelEntry)
            run.erased |= _unreadable(entry)

    @property
    def runs(self) -> int:
        return sum(self._only in ("", name) for name in self._runs if name)

    def _step(self, run: _Run, entry: Entry) -> Iterator[Difference]:
        """Whether the step function produces this entry from the entries before it."""
        body = entry.body
        led = isinstance(body, ModelCallEntry | ToolResultEntry)
        if not led or run.cancelled or run.erased:
            return
        self.steps += 1
        following = step.next_step(entry.run_id, run.entries, _NO_LIMITS)
        logged = _logged(body)
        if _leads(following, body):
            yield from _refused(following, entry)
            return
        yield _difference(entry, "step", logged, _described(following))

    def _request(self, run: _Run, position: int, entry: Entry) -> Iterator[Difference]:
        body = entry.body
        if not isinstance(body, ModelCallEntry):
            return
        snapshot = self._snapshots.get(body.prompt)
        if snapshot is None or body.prompt not in self._sound:
            gone = "is gone" if snapshot is None else "is not what its name says"
            self.skipped.append(f"entry {entry.seq}: its prompt {body.prompt[:12]} {gone}")
            return
        start = self._start(position, body.window_from)
        lost = [seq for seq in self._erased if body.window_from <= seq < entry.seq]
        if lost:
            self.skipped.append(f"entry {entry.seq}: its window holds entry {lost[0]}, erased")
            return
        visible = self._entries[start : position + 1]
        options = run.options
        if options.history is not None:
            visible = [each for each in visible if each.run_id == entry.run_id]
        got = request_digest(self._builder(visible, snapshot, body, options))
        self.requests[entry.seq] = got
        wanted = self._expected.get((entry.run_id, body.call))
        if wanted is None:
            return
        self.compared += 1
        if wanted != got:
            yield _difference(entry, "request", wanted, got)

    def _start(self, position: int, window_from: int) -> int:
        """The start of a window. Entries are numbered without gaps, except for archived ones."""
        first = self._entries[0].seq
        guess = min(max(window_from - first, 0), position)
        while guess > 0 and self._entries[guess].seq > window_from:
            guess -= 1
        return guess


def replayed(
    entries: Sequence[Entry],
    snapshots: Mapping[str, PromptSnapshot],
    only_run: str = "",
    builder: Builder = request_of,
) -> Replayed:
    """Replay a session's log from its first entry on, up to the first difference. `only_run`
    compares one run alone, in the context of the others."""
    replay = _Replay(entries, snapshots, only_run, builder)
    difference = next(replay.walk(), None)
    return Replayed(
        runs=replay.runs,
        requests=replay.requests,
        compared=replay.compared,
        steps=replay.steps,
        skipped=tuple(replay.skipped),
        difference=difference,
    )


def prompts_of(entries: Sequence[Entry]) -> list[str]:
    """The snapshots that the calls of a log used."""
    calls = (entry.body for entry in entries if isinstance(entry.body, ModelCallEntry))
    return list(dict.fromkeys(call.prompt for call in calls))


def _unreadable(entry: Entry) -> bool:
    """Whether an entry's payload is gone."""
    return entry.body is None or (isinstance(entry.body, ErasedEntry) and entry.body.tainted)


def _leads(following: step.Step, body: Body | None) -> bool:
    if isinstance(body, ModelCallEntry):
        return isinstance(following, step.CallModel) and following.call == body.call
    if isinstance(following, step.AskHuman):  # the person's answer came with the result
        return True
    return isinstance(following, step.RunTools) and _pending(following, body) is not None


def _pending(following: step.RunTools, body: Body | None) -> step.PendingCall | None:
    if not isinstance(body, ToolResultEntry):
        return None
    same = (c for c in following.calls if (c.model_call, c.index) == (body.call, body.index))
    return next((call for call in same if call.call.name == body.name), None)


def _refused(following: step.Step, entry: Entry) -> Iterator[Difference]:
    """A call that the step refuses has the refusal as its result; one that was started may have
    had its own."""
    body = entry.body
    if not isinstance(following, step.RunTools) or not isinstance(body, ToolResultEntry):
        return
    pending = _pending(following, body)
    refusal = None if pending is None else pending.refusal
    if refusal in (None, step.INTERRUPTED) or refusal == body.text:
        return
    yield _difference(entry, "text", body.text, str(refusal))


def _difference(entry: Entry, field: str, logged: str, got: str) -> Difference:
    return Difference(
        entry=entry.seq, run_id=entry.run_id, field=field, logged=logged, replayed=got
    )


def _logged(body: Body | None) -> str:
    if isinstance(body, ModelCallEntry):
        return f"CallModel {body.call}"
    if isinstance(body, ToolResultEntry):
        return f"RunTools {body.name} {body.call}:{body.index}"
    return type(body).__name__


def _described(following: step.Step) -> str:
    if isinstance(following, step.RunTools):
        calls = (f"{c.call.name} {c.model_call}:{c.index}" for c in following.calls)
        return f"RunTools {', '.join(calls)}"
    if isinstance(following, step.CallModel):
        return f"CallModel {following.call}"
    return str(following)
