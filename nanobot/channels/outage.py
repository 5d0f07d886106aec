"""Outages: failures of a platform itself, which end for all its chats at once."""

from __future__ import annotations

import asyncio

from nanobot.ports import Clock

_CHATS_COUNTED = 20


class Outage:
    """When the chats of one channel try again after a failure of the platform's.

    Each waits by its own backoff, but not alone: some try earlier, a try every second or two at
    first and rarer the longer it lasts, and with the first that succeeds everybody's waiting ends.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None
        self._next_try = 0.0
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def succeeded(self) -> None:
        """Something has arrived: the platform works."""
        self._since = None
        for sleeping in self._waiting.values():
            sleeping.cancel()

    async def wait(self, chat: str, seconds: float, *, harmless: bool) -> bool:
        """Wait before the next try of this chat, `seconds` at most. `harmless`: a try leaves no
        doubt about what it did. True: something has arrived elsewhere meanwhile."""
        sleep = self._clock.sleep(self._share(seconds, harmless=harmless))
        try:
            async with asyncio.TaskGroup() as tasks:
                sleeping = self._waiting[chat] = tasks.create_task(sleep, name=f"{chat}: waiting")
        finally:
            self._waiting.pop(chat, None)
        return sleeping.cancelled()

    def _share(self, seconds: float, *, harmless: bool) -> float:
        """Seconds until this chat is to try, earlier than by its own backoff if nobody else will.

        Tries that leave no doubt come after a tenth of the outage's duration, 1 to 15 s. A try
        whose outcome may stay unknown can show the message once more, so that each chat makes no
        more of them than it would alone: their gaps triple for one chat and grow by a tenth for 20.
        """
        now = self._clock.monotonic()
        if self._since is None:
            self._since = self._next_try = now
        latest = max(self._next_try, now)
        lasted = latest - self._since
        chats = min(len(self._waiting) + 1, _CHATS_COUNTED)
        gap = min(max(lasted / 10, 1.0), 15.0) if harmless else max(2 * lasted / chats, 2.0)
        if latest + gap - now >= seconds:
            return seconds
        self._next_try = latest + gap
        return self._next_try - now
