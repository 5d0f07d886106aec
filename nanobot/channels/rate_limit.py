"""Pacing: as fast as a platform lets us, and slower for a while once it has complained."""

from __future__ import annotations

from collections.abc import Iterable

from nanobot.errors import NotSent
from nanobot.ports import Clock, Rate

MEMORY_SECONDS = 60.0
"""For so long after a wait that a platform asked for, sends keep to its documented rate."""


class _Bucket:
    """What may be sent somewhere: nothing before `closed`, and at a rate until `slow`."""

    def __init__(self, rate: Rate | None) -> None:
        self._gap = rate.seconds / max(rate.count, 1) if rate is not None else 0.0
        self._closed = 0.0
        self._slow = 0.0
        self._next = 0.0

    def complained(self, now: float, seconds: float) -> None:
        self._closed = max(self._closed, now + seconds)
        self._slow = max(self._slow, self._closed + MEMORY_SECONDS)

    def slow(self, now: float) -> bool:
        return now < self._slow

    def wait(self, now: float) -> float:
        due = max(self._closed, self._next) if self.slow(now) else self._closed
        return max(due - now, 0.0)

    def took(self, now: float) -> None:
        self._next = now + self._gap


class RateLimiter:
    """When the chats of one channel may be sent something.

    A chat that the platform complained about waits as told, and keeps to `chat_rate` for a minute
    after. A complaint about the whole bot, or complaints about two chats within that minute, slow
    all of them down to `bot_rate`. Nobody who may send at once is kept waiting.
    """

    def __init__(self, clock: Clock, chat_rate: Rate | None, bot_rate: Rate | None) -> None:
        self._clock = clock
        self._chat_rate = chat_rate
        self._bot = _Bucket(bot_rate)
        self._chats: dict[str, _Bucket] = {}

    async def turn(self, chat: str) -> None:
        """Wait until a reply may go to this chat; it counts as sent then."""
        while (wait := self._wait(chat)) > 0:
            await self._clock.sleep(wait)
        now = self._clock.monotonic()
        for line in self._lines(chat):
            line.took(now)

    def calm(self, chat: str) -> bool:
        """Whether there is no complaint to heed: previews and typing leave what is left of a rate
        to replies."""
        now = self._clock.monotonic()
        return not any(line.slow(now) for line in self._lines(chat))

    def complained(self, chat: str, error: NotSent) -> None:
        """The platform asked to be left alone, for a while if it did not say for how long."""
        if error.retry_after is None:
            return
        now = self._clock.monotonic()
        self._chats = {name: line for name, line in self._chats.items() if line.slow(now)}
        if error.scope == "bot":
            self._bot.complained(now, error.retry_after)
            return
        if any(name != chat for name in self._chats):
            self._bot.complained(now, 0.0)
        self._chats.setdefault(chat, _Bucket(self._chat_rate)).complained(now, error.retry_after)

    def _wait(self, chat: str) -> float:
        now = self._clock.monotonic()
        return max(line.wait(now) for line in self._lines(chat))

    def _lines(self, chat: str) -> Iterable[_Bucket]:
        own = self._chats.get(chat)
        return (self._bot,) if own is None else (self._bot, own)
