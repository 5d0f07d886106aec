"""The scheduler: jobs and triggers, in one of the processes that share a store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from loguru import logger

from nanobot.channels.sharing import Sharing, Turn

LEASE = "(scheduler)"
"""Its key among the leases of channels; no channel has this name."""


class Scheduler:
    """Runs `schedule` until cancelled. With a `lease` it runs only while that is held, so that
    another process takes over when this one ends or dies."""

    def __init__(self, schedule: Callable[[], Awaitable[None]], lease: Turn | None) -> None:
        self._schedule = schedule
        self._lease = lease
        self.schedules = False

    async def run(self) -> None:
        if self._lease is None:
            await self._scheduling()
            return
        while True:
            await self._lease.wait()
            logger.info("jobs and triggers are at work here")
            await self._lease.holding(self._scheduling)

    async def _scheduling(self) -> None:
        self.schedules = True
        try:
            await self._schedule()
        finally:
            self.schedules = False


def scheduler_over(sharing: Sharing | None, work: Callable[[], Awaitable[None]]) -> Scheduler:
    """The scheduler of one process; of those that share a store, one holds the lease."""
    return Scheduler(work, None if sharing is None else sharing.turn(LEASE))
