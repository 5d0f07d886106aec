"""Sends metrics at intervals. Metrics are cumulative: a collector that was unavailable gets all
totals with the next request, so nothing has to be buffered for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from loguru import logger

from nanobot.boundary import boundary
from nanobot.plugins.common.collector import Collector, NotTaken
from nanobot.plugins.common.faces import Metric
from nanobot.plugins.metrics.otlp import send
from nanobot.ports import Clock


class Exporter:
    """Sends the metrics that `look` returns, every `interval` seconds."""

    def __init__(
        self,
        look: Callable[[], Awaitable[Sequence[Metric]]],
        collector: Collector,
        clock: Clock,
        interval: float,
    ) -> None:
        self._look = look
        self._collector = collector
        self._clock = clock
        self._interval = interval
        self._since = clock.now()
        self._told = ""

    async def run(self) -> None:
        """Send as long as the gateway serves."""
        while True:
            wait = self._interval
            with boundary("sending metrics"):
                try:
                    self._tell(await self.send_now())
                except NotTaken as error:
                    self._tell(str(error))
                    wait = max(wait, error.pause or 0.0)
            await self._clock.sleep(wait)

    async def send_now(self) -> str:
        """Send the current metrics; returns a complaint of the collector, if any. Raises NotTaken
        and StoreError.
        """
        metrics = await self._look()
        return await send(self._collector, metrics, self._since, self._clock.now())

    def _tell(self, why: str) -> None:
        """Log each reason once, until sending works again."""
        if why and why != self._told:
            logger.warning("the collector of metrics did not take all of them: {}", why)
        self._told = why
