"""Signals from this process to the others: collected briefly, and sent together."""

from __future__ import annotations

import asyncio

import msgspec

from nanobot.errors import StoreError
from nanobot.messages import EventKind, RunEvent
from nanobot.plugins.postgres.processes.signals import Packer, Signal
from nanobot.plugins.postgres.store.notices import MAX_BYTES, Notices
from nanobot.ports import Clock

GATHER_SECONDS = 0.01
"""Signals within this time are sent together."""

_MOST_WAITING = 10_000
_MOST_CHANNELS = 4_096


class Telling:
    """`lost`: a signal was not sent, because the store failed or there were too many."""

    def __init__(self, notices: Notices, clock: Clock) -> None:
        self.lost = False
        self._notices = notices
        self._clock = clock
        self._packer = Packer(notices.own, MAX_BYTES)
        self._waiting: dict[object, tuple[str, Signal]] = {}
        self._some = asyncio.Event()
        self._numbers = 0

    def say(self, to: str, signal: Signal) -> None:
        """Send to the process of that name; "": to all."""
        self._numbers += 1
        self.put(self._numbers, to, signal)

    def put(self, key: object, to: str, signal: Signal) -> None:
        """A pending signal with the same key is replaced."""
        if len(self._waiting) >= _MOST_WAITING and key not in self._waiting:
            del self._waiting[next(iter(self._waiting))]
            self.lost = True
        self._waiting[key] = (to, signal)
        self._some.set()

    def waiting(self, key: object) -> Signal | None:
        """The pending signal with that key."""
        return self._waiting.get(key, ("", None))[1]

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._some.wait()
            await self._clock.sleep(GATHER_SECONDS)
            self._some.clear()
            waiting, self._waiting = list(self._waiting.values()), {}
            await self.send(waiting)

    async def send(self, signals: list[tuple[str, Signal]]) -> None:
        """Send each to its recipients."""
        by_target: dict[str, list[Signal]] = {}
        for to, signal in signals:
            by_target.setdefault(to, []).append(signal)
        texts = [(to, text) for to, all_ in by_target.items() for text in self._packer.packed(all_)]
        try:
            await self._notices.send(texts)
        except StoreError:
            self.lost = True


class RunChannels:
    """The channel that each run answers to, taken from its first event."""

    def __init__(self) -> None:
        self._channels: dict[str, str] = {}

    def note(self, event: RunEvent) -> str:
        """The channel of an event's run; it is forgotten with the last one."""
        address = event.payload.get("address")
        if address is not None:
            self._channels[event.run_id] = address.channel
            if len(self._channels) > _MOST_CHANNELS:
                del self._channels[next(iter(self._channels))]
        if event.kind is EventKind.END:
            return self._channels.pop(event.run_id, "")
        return self.of(event.run_id)

    def of(self, run_id: str) -> str:
        """The channel of a run; "" if it is unknown."""
        return self._channels.get(run_id, "")


class Pieces:
    """Pieces of unfinished answers, joined until they are sent."""

    def __init__(self) -> None:
        self._events: dict[tuple[str, int, str], RunEvent] = {}

    def __bool__(self) -> bool:
        return bool(self._events)

    def gather(self, event: RunEvent) -> None:
        kind = "text" if "text" in event.payload else "reasoning"
        key = (event.run_id, event.model_call, kind)
        before = self._events.get(key)
        text = str(event.payload.get(kind, ""))
        if before is not None:
            text = f"{before.payload.get(kind, '')}{text}"
        payload = msgspec.convert({kind: text}, dict)
        self._events[key] = msgspec.structs.replace(event, payload=payload)

    def take(self, run_id: str = "") -> list[RunEvent]:
        """The pieces of a run, or of all."""
        keys = [key for key in self._events if run_id in ("", key[0])]
        return [self._events.pop(key) for key in keys]


def whole_so_far(event: RunEvent, call: int, text: str) -> RunEvent:
    """The output of a run so far in a call, as one piece; `event` is any of the run's."""
    kind = EventKind.MODEL_DELTA
    return msgspec.structs.replace(event, kind=kind, model_call=call, payload={"text": text})
