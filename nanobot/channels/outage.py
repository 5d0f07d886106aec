"""Outages: failures of the platform itself, which end for all chats at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nanobot.errors import ChannelDown, NotSent
from nanobot.ports import Clock

_CHATS_COUNTED = 20
_PROBE_SECONDS = 1.0
"""How long the result of a failed probe is used."""
_FIRST_GAP = 2.0
_OUTAGE_CHATS = 2
"""If sends to this many chats are in doubt and none has arrived since, the platform has
an outage."""


class Outage:
    """Decides when the chats of one channel try again after the platform failed.

    Each chat waits by its backoff, but they share attempts: some try earlier, at first one every
    second or two, later less often. The first success ends the wait of all.

    If the platform cannot tell what it applied, only sends in flight at the beginning of an outage
    end in doubt: `clear` holds the others back. `probe` sends the platform a harmless request; it
    raises ChannelDown while there is no usable response.
    """

    def __init__(self, clock: Clock, probe: Callable[[], Awaitable[None]] | None = None) -> None:
        self._clock = clock
        self._probe = probe
        self._probing = asyncio.Lock()
        self._probe_failed: tuple[float, NotSent] | None = None
        self._since: float | None = None
        self._next_try = 0.0
        self._doubted: dict[str, float] = {}
        self._next_fresh = 0.0
        self._waiting: dict[str, asyncio.Task[None]] = {}

    @property
    def suspected(self) -> bool:
        """Whether a send is in doubt or waits, and none has arrived since."""
        return self._since is not None or bool(self._doubted)

    def succeeded(self) -> None:
        """A send has arrived: the platform works."""
        self._since = None
        self._doubted.clear()
        for sleeping in self._waiting.values():
            sleeping.cancel()

    def doubted(self, chat: str) -> None:
        """It is unknown whether the last send to this chat was applied."""
        now = self._clock.monotonic()
        if chat not in self._doubted and len(self._doubted) + 1 == _OUTAGE_CHATS:
            self._next_fresh = now + _FIRST_GAP
        self._doubted.setdefault(chat, now)

    async def clear(self, chat: str) -> None:
        """Return when a send to this chat may be tried. Raises NotSent while its outcome would
        probably be unknown: the platform does not respond to a probe, or it does but sends to
        several other chats are in doubt. In the second case one chat at a time may try, at
        intervals that double, so that chats with individual trouble delay the others only briefly.
        """
        if not self._doubted:
            return
        await self._probed()
        if chat in self._doubted or len(self._doubted) < _OUTAGE_CHATS:
            return
        now = self._clock.monotonic()
        if now < self._next_fresh:
            raise NotSent("sends to other chats are in doubt; waiting until one of them arrives")
        lasted = now - min(self._doubted.values())
        self._next_fresh = now + max(lasted, _FIRST_GAP)

    async def _probed(self) -> None:
        if self._probe is None:
            return
        async with self._probing:
            if self._probe_failed is not None:
                at, error = self._probe_failed
                if self._clock.monotonic() - at < _PROBE_SECONDS:
                    raise NotSent(str(error))
            try:
                await self._probe()
            except ChannelDown as down:
                error = NotSent(f"the platform does not answer: {down}")
                self._probe_failed = self._clock.monotonic(), error
                raise error from down
            self._probe_failed = None

    async def wait(self, chat: str, seconds: float, *, harmless: bool) -> bool:
        """Wait before this chat's next attempt, at most `seconds`. `harmless`: an attempt's outcome
        is always known. True: a send to another chat has arrived meanwhile."""
        sleep = self._clock.sleep(self._share(seconds, harmless=harmless))
        try:
            async with asyncio.TaskGroup() as tasks:
                sleeping = self._waiting[chat] = tasks.create_task(sleep, name=f"{chat}: waiting")
        finally:
            self._waiting.pop(chat, None)
        return sleeping.cancelled()

    def _share(self, seconds: float, *, harmless: bool) -> float:
        """Seconds until this chat tries, earlier than its backoff if no other chat will.

        Attempts with a known outcome come after a tenth of the outage's duration, 1 to 15 s. An
        attempt with an unknown outcome can show the message again, so each chat makes no more of
        them than it would alone: the gaps triple for one chat and grow by a tenth for 20.
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
