"""The heartbeats of one process. Each beat renews all leases of the process in one transaction and
reports which other processes are alive. A caller that needs a beat waits for the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec
from loguru import logger

from nanobot.errors import StoreError
from nanobot.plugins.common.times.looks import slept
from nanobot.plugins.postgres.store.lease_terms import CHANNEL
from nanobot.ports import Clock

_AGAIN_SECONDS = 1.0
"""Delay after a failed beat."""
_LEAST_SECONDS = 0.1


class Held(NamedTuple):
    """A lease held by another process: the seconds left (negative if it has expired), and whether
    that process is connected to the database.
    """

    owner: str
    left: float
    connected: bool


class Beat(msgspec.Struct, frozen=True):
    """What one beat found about all leases except those of chats: `ours`, which it renewed, those
    of `others`, and the newest open inbound and outbound messages. `alone`: no other process shares
    the store.
    """

    ours: frozenset[str] = frozenset()
    others: Mapping[str, Held] = {}
    newest: tuple[int, int] = (0, 0)
    alone: bool = False


class Leases(Protocol):
    """The part of the store that records which process serves what."""

    async def hold_channel(self, channel: str, *, shares: bool = False) -> bool:
        """Acquire or renew the lease on a channel. Returns False while another process that shares
        the store holds it. `shares`: other processes may send to the channel's chats.
        """

    async def leave_channel(self, channel: str) -> None:
        """Release the lease, so that another process can serve it at once."""

    async def beat(self, line: str = "") -> Beat:
        """Renew all leases of this process except those of lanes and chats, and read those of other
        processes. `line`: the channel on which this process receives notices, "" if none.
        """

    async def free_dead(self, owner: str) -> bool:
        """Release the leases of another process. Returns False if that process is connected and may
        be alive.
        """


class Numbered(NamedTuple):
    """A beat, identified by its number: when it began and what it found (None: the store
    failed).
    """

    number: int
    began: float
    found: Beat | None


class Beats:
    """`line` returns the channel on which this process receives notices. There is no background
    task: the first of the callers that wait for a beat performs it. If that caller is cancelled,
    the next one does.
    """

    def __init__(self, leases: Leases, clock: Clock, line: Callable[[], str] = str) -> None:
        self.leases = leases
        self.last = Numbered(0, clock.monotonic(), None)
        self._line = line
        self._clock = clock
        self._turn = asyncio.Lock()
        self._hurried = asyncio.Event()
        self._due = clock.monotonic() + CHANNEL.renew

    def hurry(self, seconds: float = 0.0) -> None:
        """Make the next beat due within this many seconds."""
        due = self._clock.monotonic() + seconds
        if due < self._due:
            self._due = due
            self._hurried.set()

    async def after(self, number: int) -> Numbered:
        """The latest beat, as soon as one newer than the given beat exists."""
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
        """Release a lease, so that another process can acquire it at once."""
        with suppress(StoreError):
            await self.leases.leave_channel(name)


def _pause(found: Beat) -> float:
    """Wait until the next beat, which comes early enough to notice a lease that was not renewed."""
    ends = (held.left + _LEAST_SECONDS for held in found.others.values() if held.left > 0)
    return min((CHANNEL.renew, *ends))
