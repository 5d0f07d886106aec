"""What happens in sessions, for whoever watches them over HTTP: numbered, kept for a while, and
read by each at their own pace."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any, Literal

import msgspec

from nanobot.bus.core import Bus, Subscription
from nanobot.messages import EventKind, RunEvent
from nanobot.session.runs import Run

RING_BYTES = 256 * 1024
KEPT_SECONDS = 120.0
"""So long a stream that nobody watches goes on, for who lost the connection."""

_ALL = frozenset(EventKind)
_WITHOUT_TOKENS = _ALL - {EventKind.MODEL_DELTA}


class Item(msgspec.Struct, frozen=True):
    """One thing that happened, as JSON; `id` is where it stands in its stream."""

    id: str
    data: bytes


class Stream(Subscription):
    """The events of one session (None: of all, without those of single tokens), the last 256 kB of
    them. Reading never waits for another reader, and takes nothing away."""

    def __init__(self, session_key: str | None) -> None:
        super().__init__(session_key, _ALL if session_key else _WITHOUT_TOKENS)
        self.readers = 0
        self.closed = False
        self.settled = 0
        """How many there were that the log may know of: all but single tokens."""
        self._epoch = secrets.token_hex(4)
        self._ring: deque[Item] = deque()
        self._bytes = 0
        self._head = 0
        self._news = asyncio.Event()

    def offer(self, event: RunEvent) -> None:
        if event.kind not in self._kinds:
            return
        self.say("event", event.session_key, event)
        if event.kind is EventKind.MODEL_DELTA:
            self.settled -= 1

    def say(self, kind: str, session_key: str, content: Any) -> None:
        """Add something that happened."""
        self.settled += 1
        self._head += 1
        item = self.item(kind, session_key, content, self._head)
        self._ring.append(item)
        self._bytes += len(item.data)
        while self._bytes > RING_BYTES and len(self._ring) > 1:
            self._bytes -= len(self._ring.popleft().data)
        self._news.set()
        self._news = asyncio.Event()

    def item(self, kind: str, session_key: str | None, content: Any, number: int) -> Item:
        """Something as an item that stands at that number."""
        name = f"{self._epoch}-{number}"
        body = {"id": name, "type": kind, "session_key": session_key, kind: content}
        return Item(name, msgspec.json.encode(body))

    @property
    def head(self) -> int:
        """The number of the last item."""
        return self._head

    def position(self, name: str) -> int | None:
        """The number of the item with that id; None if what followed it is not known any more."""
        epoch, _, number = name.partition("-")
        if epoch != self._epoch or not number.isdecimal() or len(number) > 18:
            return None
        return int(number) if self.knows(int(number)) else None

    def knows(self, number: int) -> bool:
        """Whether all that came after that item is here."""
        return self._head - len(self._ring) <= number <= self._head

    def since(self, number: int) -> list[Item]:
        """The items after that one."""
        start = len(self._ring) - (self._head - number)
        return list(islice(self._ring, max(start, 0), None))

    async def news(self, seconds: float) -> None:
        """Wait until there is more, so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    def close(self) -> None:
        """Nothing more comes, and readers are to go."""
        self.closed = True
        self._news.set()


class Streams:
    """The streams that are watched, or were until a moment ago. `running` are the runs driven
    now."""

    def __init__(self, bus: Bus, running: Callable[[], list[Run]]) -> None:
        self._bus = bus
        self._running = running
        self._streams: dict[str | None, Stream] = {}
        self._timers: dict[str | None, asyncio.TimerHandle] = {}

    def open(self, session_key: str | None) -> Stream:
        """The stream of a session, which `leave` is called for once."""
        stream = self._streams.get(session_key)
        if stream is None:
            stream = self._streams[session_key] = Stream(session_key)
            self._bus.watch(stream)
        stream.readers += 1
        if (timer := self._timers.pop(session_key, None)) is not None:
            timer.cancel()
        return stream

    def leave(self, stream: Stream) -> None:
        """A reader has gone. While its run goes on, and for two minutes, it may come back."""
        stream.readers -= 1
        if not stream.readers and not stream.closed:
            self._look_later(stream)

    def _look_later(self, stream: Stream) -> None:
        loop = asyncio.get_running_loop()
        self._timers[stream.session_key] = loop.call_later(KEPT_SECONDS, self._end, stream)

    def _end(self, stream: Stream) -> None:
        if stream.readers or self._streams.get(stream.session_key) is not stream:
            return
        if any(run.session_key == stream.session_key for run in self._running()):
            self._look_later(stream)
            return
        self._timers.pop(stream.session_key, None)
        del self._streams[stream.session_key]
        self._bus.unsubscribe(stream)

    def say(self, kind: Literal["message", "said"], session_key: str, content: Any) -> None:
        """Tell whoever watches a session, or all, something that is no event of a run."""
        for key in (session_key, None):
            if (stream := self._streams.get(key)) is not None:
                stream.say(kind, session_key, content)

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        for stream in self._streams.values():
            self._bus.unsubscribe(stream)
            stream.close()
        self._streams.clear()
        self._timers.clear()
