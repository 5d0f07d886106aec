"""What takes deliveries of other services."""

from __future__ import annotations

from typing import Any

from nanobot.plugins.common.faces import Deliveries
from nanobot.seam.given import able
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions


def deliveries_of(plugged: Contributions) -> dict[str, Deliveries]:
    """What takes deliveries of other services, by the beginning of its path: a built-in plugin has
    its own, that of a package is below /plugins."""
    taking: dict[str, Deliveries] = {}

    def use(found: FoundPlugin, given: Any) -> None:
        able(given, Deliveries)
        if given:
            taking[f"/plugins/{found.name}" if found.package else f"/{found.name}"] = given

    plugged.each("deliveries", use)
    return taking
