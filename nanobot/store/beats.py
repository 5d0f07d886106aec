"""The beats of one process: each renews all its leases in one transaction, and shows it who else
lives. Whoever needs one waits for the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec
from loguru import logger

from nanobot.errors import StoreError
from nanobot.ports import Clock
from nanobot.session.lease import CHANNEL
from nanobot.supervision import slept

_AGAIN_SECONDS = 1.0
"""After a beat that failed."""
_LEAST_SECONDS = 0.1


class Held(NamedTuple):
    """A lease that another process has: for how many seconds yet (less than 0: it ran out), and
    whether that process is connected to the database."""

    owner: str
    left: float
    connected: bool


class Beat(msgspec.Struct, frozen=True):
    """What one look at the leases found, all but those of chats: `ours`, which were renewed, those
    of `others`, and the newest open message in and out. `alone`: nobody shares the store."""

    ours: frozenset[str] = frozenset()
    others: Mapping[str, Held] = {}
    newest: tuple[int, int] = (0, 0)
    alone: bool = False


class Leases(Protocol):
    """The part of the store that knows who serves what."""

    async def hold_channel(self, channel: str, *, shares: bool = False) -> bool:
        """Serve a channel, or go on serving it, for the time of a lease; False while another
        process that shares the store does. `shares`: others may speak to its chats."""
        ...

    async def leave_channel(self, channel: str) -> None:
        """Let another process serve it at once."""
        ...

    async def beat(self, line: str = "") -> Beat:
        """Renew all leases of this process but those of lanes and chats; look at the others'.
        `line`: what this process hears notices on, "" if on nothing."""
        ...

    async def free_dead(self, owner: str) -> bool:
        """Free what another process held. False: it is connected, so it may live."""
        ...


class Numbered(NamedTuple):
    """A beat by its number: when it began, and what it found (None: the store failed)."""

    number: int
    began: float
    found: Beat | None


class Beats:
    """`line` says on what this process hears notices. There is no task: of those that wait for a
    beat the first one does it, and if it is cancelled the next."""

    def __init__(self, leases: Leases, clock: Clock, line: Callable[[], str] = str) -> None:
        self.leases = leases
        self.last = Numbered(0, clock.monotonic(), None)
        self._line = line
        self._clock = clock
        self._turn = asyncio.Lock()
        self._hurried = asyncio.Event()
        self._due = clock.monotonic() + CHANNEL.renew

    def hurry(self, seconds: float = 0.0) -> None:
        """The next beat is due in so many seconds, or earlier."""
        due = self._clock.monotonic() + seconds
        if due < self._due:
            self._due = due
            self._hurried.set()

    async def after(self, number: int) -> Numbered:
        """The last beat, once there is one after that."""
        while self.last.number <= number:
            async with self._turn:
                if self.last.number <= number:
                    await self._wait()
                    await self._beat()
        return self.last

    async def _wait(self) -> None:
        while (left := self._due - self._clock.monotonic()) > 0:
            self._hurried.clear()
            await slept(self._clock, left, self._hurried)

    async def _beat(self) -> None:
        began = self._clock.monotonic()
        found: Beat | None = None
        try:
            found = await self.leases.beat(self._line())
        except StoreError as error:
            logger.warning("leases cannot be renewed: {}", error)
        pause = _AGAIN_SECONDS if found is None else _pause(found)
        self._due = self._clock.monotonic() + pause
        self.last = Numbered(self.last.number + 1, began, found)

    async def leave(self, name: str) -> None:
        """Let another process have a lease at once."""
        with suppress(StoreError):
            await self.leases.leave_channel(name)


def _pause(found: Beat) -> float:
    """Until the next beat: in time to see that a lease was not renewed."""
    ends = (held.left + _LEAST_SECONDS for held in found.others.values() if held.left > 0)
    return min((CHANNEL.renew, *ends))
