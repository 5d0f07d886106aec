"""The leases of the lanes that this process drives, and lanes that other processes left."""

from __future__ import annotations

from collections.abc import Mapping

from loguru import logger

from nanobot.agent.worker import Worker
from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import StoreError
from nanobot.plugins.postgres.processes.left_work import look_due
from nanobot.plugins.postgres.store.lease_terms import LANE
from nanobot.plugins.postgres.store.leases import SqlLeases
from nanobot.ports import Clock
from nanobot.supervision import Work


class LaneLeases:
    """Those of one worker."""

    def __init__(self, worker: Worker, leases: SqlLeases, bus: Bus, clock: Clock) -> None:
        self._worker, self._leases, self._bus, self._clock = worker, leases, bus, clock

    def works(self) -> Mapping[str, Work]:
        """What is done for a worker, by name."""
        return {"agent: leases": self._keep, "agent: lanes of others": self._look}

    async def _keep(self) -> None:
        """Renew the leases of held lanes, and once after the last of them."""
        renewed = self._clock.monotonic()
        while True:
            if not self._worker.holding.is_set():
                await self._worker.holding.wait()
                renewed = self._clock.monotonic()
            await self._clock.sleep(LANE.renew)
            renewed = await self._renew(renewed, self._clock.monotonic())

    async def _renew(self, last: float, now: float) -> float:
        """Returns when the leases were last known to be valid; after LANE.give_up, stop driving."""
        try:
            await self._leases.renew()
        except StoreError as error:
            logger.error("leases could not be renewed: {}", error)
            if now - last > LANE.give_up:
                self._worker.give_up()
            return last
        return now

    async def _look(self) -> None:
        """Look for lanes that other processes left or whose wake-up was lost."""
        while True:
            await look_due(self._bus, self._clock)
            if not self._worker.stopping:
                with boundary("looking for lanes"):
                    await self._worker.recover()
