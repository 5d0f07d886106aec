"""Tracks by this process's heartbeats which other processes are alive, and releases what dead ones
held.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from loguru import logger

from nanobot.boundary import boundary
from nanobot.plugins.common.times.looks import Looks
from nanobot.plugins.postgres.processes.presence import Presence
from nanobot.plugins.postgres.processes.signals import Dead, Look
from nanobot.plugins.postgres.processes.telling import Telling
from nanobot.plugins.postgres.store.beats import Beat, Beats, Held
from nanobot.plugins.postgres.store.identity import name_of, process_name
from nanobot.plugins.postgres.store.notices import LONGEST_PAUSE, Notices
from nanobot.ports import Clock

DOUBT_SECONDS = 2.0
"""A process that has been disconnected for this long is dead. A process whose connection was cut
reconnects within half a second.
"""
SETTLED_SECONDS = LONGEST_PAUSE + 7.0
"""After a restart of the database, other processes get this long to reconnect."""

_PROCESSES = process_name("")


class Beaten(Protocol):
    """Called after each beat; `strangers`: there is a live process that has not introduced
    itself.
    """

    def __call__(self, *, strangers: bool) -> None: ...


class Living:
    """A live process has a lease, which it renews with each beat, and a lock that ends with its
    connection. Without the lock it is dead; without the lease it is suspended or cut off.
    """

    def __init__(
        self,
        presence: Presence,
        telling: Telling,
        looks: Looks,
        beats: Beats,
        notices: Notices,
        clock: Clock,
    ) -> None:
        self._presence = presence
        self._telling = telling
        self._looks = looks
        self._beats = beats
        self._notices = notices
        self._clock = clock
        self._doubted: dict[str, float] = {}
        self._newest = (0, 0)

    async def follow(self, beaten: Beaten) -> None:
        """Check each beat, until cancelled."""
        number = 0
        while True:
            number, _, found = await self._beats.after(number)
            if found is None:
                self._looks.stir()
                continue
            with boundary("looking at the other processes"):
                beaten(strangers=self._look(found))
                await self._end(self._dead(found.others))

    def _look(self, found: Beat) -> bool:
        """Whether one of them is unknown."""
        came = any(new > old for new, old in zip(found.newest, self._newest, strict=True))
        self._newest = found.newest
        if came or self._notices.listening_since is None:
            self._looks.stir()
        if self._telling.lost:
            self._telling.lost = False
            self._telling.say("", Look())
        strangers = False
        for lease, held in found.others.items():
            if not lease.startswith(_PROCESSES):
                continue
            name = name_of(held.owner)
            if held.left > 0:
                strangers |= not self._presence.seen(name)
            elif self._presence.drop(name):
                logger.warning("another process is silent: its leases will be free soon")
                self._looks.stir()
        return strangers

    def _dead(self, others: Mapping[str, Held]) -> list[str]:
        """The owners of processes that have been disconnected for long enough."""
        now, since = self._clock.monotonic(), self._notices.listening_since
        doubted = {
            held.owner
            for lease, held in others.items()
            if lease.startswith(_PROCESSES) and not held.connected
        }
        self._doubted = {owner: self._doubted.get(owner, now) for owner in doubted}
        if since is None or not doubted:
            return []
        ready = max(since + SETTLED_SECONDS, min(self._doubted.values()) + DOUBT_SECONDS)
        if ready > now:
            self._beats.hurry(ready - now)
            return []
        return [owner for owner, at in self._doubted.items() if now - at >= DOUBT_SECONDS]

    async def _end(self, owners: list[str]) -> None:
        for owner in owners:
            if await self._beats.leases.free_dead(owner):
                logger.warning("another process has died: its leases are free")
                self._presence.drop(name_of(owner))
                self._telling.say("", Dead(name_of(owner)))
                self._looks.stir()
                self._beats.hurry()
