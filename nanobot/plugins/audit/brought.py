"""What others reach of plugins."""

from __future__ import annotations

from typing import Any

from nanobot.app.ledgers import unlimited
from nanobot.app.live_settings import LiveSettings
from nanobot.bus.gate import Strangers
from nanobot.plugins.common.awaited import each_awaited
from nanobot.plugins.common.exposures import Exposure
from nanobot.plugins.common.http.deliveries import deliveries_of
from nanobot.seam.given import listed
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions
from nanobot.text import Sentence

EXPOSURE_SECONDS = 20.0
"""Time limit for what a plugin tells."""


class Brought:
    """What the plugins of one gateway bring that others reach. `strangers`: what lets people ask
    for access, if anything does."""

    def __init__(
        self, live: LiveSettings, contributions: Contributions, strangers: Strangers | None
    ) -> None:
        self._live, self._contributions, self._strangers = live, contributions, strangers

    def takes_deliveries(self) -> bool:
        """Whether any of them is served over HTTP, also where the page is off."""
        return bool(deliveries_of(self._contributions))

    def serves_http(self) -> bool:
        """Whether there is a server for HTTP."""
        return "http" in self._contributions.on

    def to_strangers(self, channel: str) -> Sentence:
        """What strangers reach of a channel whose settings let them ask for access."""
        if self._strangers is None:
            return f"channels.{channel}: nothing"
        return self._strangers.reached(channel)

    async def exposures(self) -> list[Exposure]:
        """What plugins say of themselves, and what guests reach if none limits model calls."""
        found: list[Exposure] = []
        without_limits = unlimited(self._live.config, self._contributions)
        if without_limits is not None:
            reaches = "answers without any tool, without any limit of spending"
            remedy = without_limits.remedy
            found.append(Exposure(attacker="guest", level="risk", reaches=reaches, remedy=remedy))

        def use(_: FoundPlugin, given: Any) -> None:
            found.extend(listed(given, Exposure))

        await each_awaited(self._contributions, "exposures", use, EXPOSURE_SECONDS)
        return found
