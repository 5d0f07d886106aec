"""Event streams of sessions for HTTP clients: numbered, kept for a while, and read by each client
at its own pace.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Literal, TypeAlias

import msgspec

from nanobot.bus.core import Bus, Subscription
from nanobot.messages import EventKind, RunEvent
from nanobot.session.runs import Run

RING_BYTES = 256 * 1024
KEPT_SECONDS = 120.0
"""How long a stream without readers is kept, for clients that lost the connection."""

_ALL = frozenset(EventKind)
_WITHOUT_TOKENS = _ALL - {EventKind.MODEL_DELTA}


Whose: TypeAlias = tuple[str, ...] | None
"""The sessions that a caller may see; see Caller.sessions."""
_Key: TypeAlias = tuple[str | None, Whose]


class Item(msgspec.Struct, frozen=True):
    """An event as JSON; `id` is its position in its stream."""

    id: str
    data: bytes


class Stream(Subscription):
    """The last 256 kB of events of one session (None: of all, or of those in `whose`, without
    single tokens). Reading never waits for another reader, and removes nothing.
    """

    def __init__(self, session_key: str | None, whose: Whose = None) -> None:
        super().__init__(session_key, _ALL if session_key else _WITHOUT_TOKENS)
        self.whose = whose
        self.key = (session_key, whose)
        self.readers = 0
        self.closed = False
        self.settled = 0
        """The number of events that the log may know of: all but single tokens."""
        self._epoch = secrets.token_hex(4)
        self._ring: deque[Item] = deque()
        self._bytes = 0
        self._head = 0
        self._news = asyncio.Event()

    def offer(self, event: RunEvent) -> None:
        if event.kind not in self.kinds or not self.covers(event.session_key):
            return
        self.say("event", event.session_key, event)
        if event.kind is EventKind.MODEL_DELTA:
            self.settled -= 1

    def covers(self, session_key: str) -> bool:
        """Whether events of a session belong to this stream."""
        if self.session_key is not None:
            return session_key == self.session_key
        return self.whose is None or is_within(session_key, self.whose)

    def say(self, kind: str, session_key: str, content: Any) -> None:
        """Append an event."""
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
        """An event as an item with that number."""
        name = f"{self._epoch}-{number}"
        body = {"id": name, "type": kind, "session_key": session_key, kind: content}
        return Item(name, msgspec.json.encode(body))

    @property
    def head(self) -> int:
        """The number of the last item."""
        return self._head

    def position(self, name: str) -> int | None:
        """The number of the item with that id; None if the items after it are no longer known."""
        epoch, _, number = name.partition("-")
        if epoch != self._epoch or not number.isdecimal() or len(number) > 18:
            return None
        return int(number) if self.knows(int(number)) else None

    def knows(self, number: int) -> bool:
        """Whether all items after that one are here."""
        return self._head - len(self._ring) <= number <= self._head

    def since(self, number: int) -> list[Item]:
        """The items after that one."""
        start = len(self._ring) - (self._head - number)
        return list(islice(self._ring, max(start, 0), None))

    async def news(self, seconds: float) -> None:
        """Wait for more items, at most this long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    def close(self) -> None:
        """The stream ends, and readers should leave."""
        self.closed = True
        self._news.set()


class Streams:
    """The streams that are watched, or were until recently. `running` are the runs driven now."""

    def __init__(self, bus: Bus, running: Callable[[], list[Run]]) -> None:
        self._bus = bus
        self._running = running
        self._streams: dict[_Key, Stream] = {}
        self._timers: dict[_Key, asyncio.TimerHandle] = {}

    def open(self, session_key: str | None, whose: Whose = None) -> Stream:
        """The stream of a session, or of all sessions of a caller; call `leave` once for it."""
        key = (session_key, whose)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = Stream(session_key, whose)
            self._bus.watch(stream)
        stream.readers += 1
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        return stream

    def leave(self, stream: Stream) -> None:
        """A reader has left. While its run is active, and for two minutes, it may come back."""
        stream.readers -= 1
        if not stream.readers and not stream.closed:
            self._look_later(stream)

    def _look_later(self, stream: Stream) -> None:
        loop = asyncio.get_running_loop()
        self._timers[stream.key] = loop.call_later(KEPT_SECONDS, self._end, stream)

    def _end(self, stream: Stream) -> None:
        if stream.readers or self._streams.get(stream.key) is not stream:
            return
        if any(run.session_key == stream.session_key for run in self._running()):
            self._look_later(stream)
            return
        self._timers.pop(stream.key, None)
        del self._streams[stream.key]
        self._bus.unsubscribe(stream)

    def say(self, kind: Literal["message", "said"], session_key: str, content: Any) -> None:
        """Send readers of a session, or of all, something other than an event of a run."""
        for stream in self._streams.values():
            if stream.covers(session_key):
                stream.say(kind, session_key, content)

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        for stream in self._streams.values():
            self._bus.unsubscribe(stream)
            stream.close()
        self._streams.clear()
        self._timers.clear()


def is_within(session_key: str, names: Sequence[str]) -> bool:
    """Whether a session has one of these names, or begins with one that ends with a colon."""
    return any(
        session_key.startswith(name) if name.endswith(":") else session_key == name
        for name in names
    )
