"""The active runs for the chats of one channel, as known from events, and the port to what shows
them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.channels.companions import Companion
from nanobot.messages import Address, EventKind, RunEvent, RunPayload, Step
from nanobot.plugins.common.event_handlers import Handler
from nanobot.ports import Clock
from nanobot.supervision import Work
from nanobot.visible import blank

_TOOL_LINE = 80


class RunInProgress(msgspec.Struct, kw_only=True):
    """An active run, with its start by the monotonic clock."""

    run_id: str
    address: Address
    reply_key: str
    """The key of its future answer, empty if its caller takes the answer."""
    reply_to: str | None = None
    """The message that it answers."""
    since: float
    tool: str = ""
    """Its current call, as text for people."""
    steps: list[Step] = []
    """Its texts and calls so far."""
    calls: dict[str, int] = {}

    def called(self, key: str, line: str) -> None:
        """A tool call has begun."""
        self.tool = line
        self.calls[key] = len(self.steps)
        self.steps.append(Step(tool=line))

    def returned(self, key: str) -> None:
        self.tool = ""
        if (number := self.calls.pop(key, None)) is not None:
            self.steps[number] = Step(tool=self.steps[number].tool, done=True)


class RunEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended, with the messages that it answered."""

    address: Address
    message_ids: tuple[str, ...]
    completed: bool


class Showing(Companion):
    """One way to show runs in the chats of one channel."""

    def speaking(self) -> Mapping[str, Work]:
        return {type(self).__name__.lower(): self.run}

    async def run(self) -> None:
        """Show active runs, until cancelled."""
        raise NotImplementedError

    def ended(self, ended: RunEnded) -> None:
        """The run of some messages has ended."""

    def shows(self, run: RunInProgress) -> bool:
        """Whether the chat sees that the run works, so that it needs no sign of typing."""
        return False


class Activity(Companion):
    """The active runs of one channel. Events can be lost, so nothing may depend on this."""

    def __init__(self, channel: str, bus: Bus, clock: Clock) -> None:
        self.runs: dict[str, RunInProgress] = {}
        self.shown_by: list[Showing] = []
        self._channel = channel
        self._bus = bus
        self._clock = clock
        self._any = asyncio.Event()

    def speaking(self) -> Mapping[str, Work]:
        return {"activity": self.watch}

    async def watch(self) -> None:
        """Follow the events until cancelled."""
        kinds = {EventKind.STATUS, EventKind.END, EventKind.TOOL_CALL, EventKind.TOOL_RESULT}
        kinds |= {EventKind.ASSISTANT_MESSAGE}

        def handle(event: RunEvent) -> None:
            with boundary(f"an event of run {event.run_id}"):
                self._follow(event)

        watching = Handler(frozenset(kinds), handle)
        self._bus.watch(watching)
        try:
            await asyncio.Event().wait()
        finally:
            self._bus.unsubscribe(watching)

    async def any(self) -> None:
        """Wait until a run is in progress."""
        if not self.runs:
            self._any.clear()
            await self._any.wait()

    def _follow(self, event: RunEvent) -> None:
        payload = event.payload
        run = self.runs.get(event.run_id)
        if event.kind is EventKind.STATUS:
            if payload.get("state") == "running":
                self._began(event)
            elif payload.get("state") == "waiting":  # for a person, so no one works on it
                self.runs.pop(event.run_id, None)
        elif run is None:
            return
        elif event.kind is EventKind.END:
            del self.runs[event.run_id]
            ids = tuple(payload.get("message_ids", ()))
            completed = payload.get("state") == "completed"
            ended = RunEnded(address=run.address, message_ids=ids, completed=completed)
            for showing in self.shown_by:
                showing.ended(ended)
        elif event.kind is EventKind.ASSISTANT_MESSAGE:
            if not blank(payload["text"]):
                run.steps.append(Step(text=payload["text"]))
        elif event.kind is EventKind.TOOL_CALL:
            run.called(payload.get("key", ""), _tool_line(payload))
        else:
            run.returned(payload.get("key", ""))

    def _began(self, event: RunEvent) -> None:
        address = event.payload["address"]
        if address.channel == self._channel and not self._bus.peers.shows(event.run_id):
            self.runs[event.run_id] = RunInProgress(
                run_id=event.run_id,
                address=address,
                reply_key=event.payload["reply_key"],
                reply_to=event.payload.get("reply_to"),
                since=self._clock.monotonic(),
            )
            self._any.set()


def _tool_line(payload: RunPayload) -> str:
    """`exec: ls -la`: the tool, and the first text among its arguments."""
    try:
        arguments = msgspec.json.decode(payload["arguments"], type=dict[str, Any])
    except msgspec.DecodeError:  # truncated or invalid
        arguments = {}
    texts = [value for value in arguments.values() if isinstance(value, str)]
    line = " ".join(f"{payload['name']}: {texts[0]}".split()) if texts else str(payload["name"])
    line = line.replace("`", "'")
    return line if len(line) <= _TOOL_LINE else f"{line[: _TOOL_LINE - 3]}..."
