"""Rate limits: as fast as the platform allows, slower after a complaint, answers first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from nanobot.errors import NotSent
from nanobot.ports import Capabilities, Clock, Rate

MEMORY_SECONDS = 60.0
"""After a wait that a platform requested, sends keep to its documented rate for this long."""


class RatePeers(msgspec.Struct, frozen=True):
    """Other processes that send for the same bot: their number, and how to tell them that the
    platform wants no requests for some seconds."""

    count: Callable[[], int] = lambda: 0
    tell: Callable[[float], None] = lambda _seconds: None


class _Bucket:
    """The limit of one chat or bot: nothing before `closed`, and a fixed rate until `slow`.
    `blamed`: until when the platform's complaint was about exactly this one. `waiting`: tasks that
    wait."""

    def __init__(self, rate: Rate | None) -> None:
        self._gap = rate.seconds / max(rate.count, 1) if rate is not None else 0.0
        self._closed = 0.0
        self._slow = 0.0
        self._next = 0.0
        self._blamed = 0.0
        self.waiting = 0

    def complained(self, now: float, seconds: float) -> None:
        self._closed = max(self._closed, now + seconds)
        self._blamed = max(self._blamed, self._closed + MEMORY_SECONDS)
        self.slow_down(self._closed)

    def slow_down(self, now: float) -> None:
        self._slow = max(self._slow, now + MEMORY_SECONDS)

    def slow(self, now: float) -> bool:
        return now < self._slow

    def blamed(self, now: float) -> bool:
        return now < self._blamed

    def wait(self, now: float) -> float:
        due = max(self._closed, self._next) if self.slow(now) else self._closed
        return max(due - now, 0.0)

    def took(self, now: float, share: int = 1) -> None:
        self._next = now + self._gap * share


class RateLimiter:
    """Decides when something may be sent to the chats of one channel.

    A chat that the platform complained about waits as long as requested, and keeps to `chat_rate`
    for a minute after that. A complaint about the whole bot, or about two chats within that minute,
    slows all chats down to `bot_rate`. Otherwise nothing waits. If other processes send for the
    same bot, each keeps to its share of the bot's limit and hears of complaints about it. `counts`
    are called with each chat that something is sent to, and whether it is an edit.
    """

    def __init__(
        self,
        clock: Clock,
        rates: Capabilities,
        others: RatePeers = RatePeers(),  # noqa: B008 - frozen
    ) -> None:
        self._clock = clock
        self._others = others
        self._chat_rate = rates.chat_rate
        self._bot = _Bucket(rates.bot_rate)
        self._chats: dict[str, _Bucket] = {}
        self.counts: list[Callable[[str, bool], None]] = []

    async def turn(self, chat: str, *, edit: bool = False) -> None:
        """Wait until something may be sent to this chat, and count it as sent."""
        with self._queued(chat):
            while (wait := self._wait(chat)) > 0:
                await self._clock.sleep(wait)
        now = self._clock.monotonic()
        for bucket in self._buckets(chat):
            bucket.took(now, self.senders if bucket is self._bot else 1)
        for count in self.counts:
            count(chat, edit)

    def free(self, chat: str) -> bool:
        """Whether something may be sent there at once that is no answer: nothing waits, and the
        platform has not complained within a minute."""
        now = self._clock.monotonic()
        buckets = self._buckets(chat)
        return not any(
            bucket.waiting or bucket.blamed(now) or bucket.wait(now) for bucket in buckets
        )

    def complained(self, chat: str, error: NotSent) -> None:
        """The platform requested a pause; a default length is used if it gave none."""
        if error.retry_after is None:
            return
        now = self._clock.monotonic()
        if error.scope == "bot":
            self._bot.complained(now, error.retry_after)
            self._others.tell(error.retry_after)
            return
        self._chats = {
            name: bucket
            for name, bucket in self._chats.items()
            if bucket.slow(now) or bucket.waiting
        }
        if any(name != chat for name in self._chats):
            self._bot.slow_down(now)
            self._others.tell(0.0)
        self._chats.setdefault(chat, _Bucket(self._chat_rate)).complained(now, error.retry_after)

    def heard(self, seconds: float) -> None:
        """Another process that sends for this bot was told to pause for so long (0: to
        slow down)."""
        now = self._clock.monotonic()
        if seconds > 0:
            self._bot.complained(now, seconds)
        else:
            self._bot.slow_down(now)

    @property
    def senders(self) -> int:
        """The number of processes that share the bot's limit."""
        return 1 + self._others.count()

    @contextmanager
    def _queued(self, chat: str) -> Iterator[None]:
        buckets = self._buckets(chat)
        for bucket in buckets:
            bucket.waiting += 1
        try:
            yield
        finally:
            for bucket in buckets:
                bucket.waiting -= 1

    def _wait(self, chat: str) -> float:
        now = self._clock.monotonic()
        return max(bucket.wait(now) for bucket in self._buckets(chat))

    def _buckets(self, chat: str) -> tuple[_Bucket, ...]:
        own = self._chats.get(chat)
        return (self._bot,) if own is None else (self._bot, own)
