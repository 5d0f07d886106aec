"""What others reach of plugins, for the security audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nanobot.app.bringing import deliveries_of
from nanobot.app.ledgers import guests_of_unlimited
from nanobot.app.plugged import Plugged
from nanobot.bus.gate import Strangers
from nanobot.config.loader import Config
from nanobot.operations.exposures import Exposure
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.plugin import listed
from nanobot.text import Sentence

EXPOSURE_SECONDS = 20.0
"""Time limit for what a plugin tells."""


class Brought:
    """What the plugins of one gateway bring that others reach."""

    def __init__(self, config: Callable[[], Config], plugged: Plugged) -> None:
        self._config = config
        self._plugged = plugged

    def takes_deliveries(self) -> bool:
        """Whether any of them is served over HTTP, also where the page is off."""
        return bool(deliveries_of(self._plugged))

    def to_strangers(self, channel: str) -> Sentence:
        """What strangers reach of a channel whose settings let them ask for access."""
        strangers: Strangers | None = self._plugged.offers.find(Strangers)
        return f"channels.{channel}: nothing" if strangers is None else strangers.reached(channel)

    async def exposures(self) -> list[Exposure]:
        """What plugins say of themselves."""
        found = guests_of_unlimited(self._config(), self._plugged)

        def use(_: FoundPlugin, given: Any) -> None:
            found.extend(listed(given, Exposure, "a nanobot.operations.exposures.Exposure"))

        await self._plugged.each_awaited("exposures", use, EXPOSURE_SECONDS)
        return found
