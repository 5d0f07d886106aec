"""What plugins find out about themselves: their `checks`, called without a gateway."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any

from nanobot.app.bringing import unused
from nanobot.app.ledgers import unlimited
from nanobot.app.plugged import Plugged
from nanobot.config.loader import Config
from nanobot.operations.home import Finding
from nanobot.plugins.common.faces import EveryRow
from nanobot.seam.given import listed

CHECK_SECONDS = 20.0
"""Time limit for the checks of one plugin."""


async def checked(config: Config, *, rows: bool = False) -> AsyncIterator[Finding]:
    """The findings of enabled plugins about themselves, that no plugin limits model calls,
    and what is configured for plugins that are off.
    `rows`: they may read every row of the store. A plugin whose check fails is named.
    """
    plugged = Plugged(config)
    plugged.offers.add({EveryRow: rows})
    finding = unlimited(config, plugged)
    if finding is not None:
        yield finding
    for finding in unused(config):
        yield finding
    for name in list(plugged.on):
        for finding in await _checked(plugged, name):
            yield finding
    for name, failed in plugged.failures.items():
        for why in failed.values():
            text = f"the check of the plugin {name} failed: {why}"
            yield Finding(about="plugins", level="warning", text=text, remedy="Ask its author")


async def _checked(plugged: Plugged, name: str) -> list[Finding]:
    found = plugged.on[name]
    if found.plugin.checks is None:
        return []
    with plugged.failing(found, "checks"):
        async with asyncio.timeout(CHECK_SECONDS):
            return await findings_of(plugged.call(found, "checks"))
    return []


async def findings_of(given: Any) -> list[Finding]:
    """The findings from a check function's result: a sequence, an awaitable or an asynchronous
    iterator. Raises PluginBroken."""
    if inspect.isawaitable(given):
        given = await given
    if hasattr(given, "__aiter__"):
        given = [finding async for finding in given]
    return listed(given, Finding)
