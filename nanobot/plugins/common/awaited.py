"""Calls of plugins' functions that may take time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import NOTHING, Contributions, Things
from nanobot.seam.plugin import resolved


async def each_awaited(
    plugins: Contributions,
    field: str,
    use: Callable[[FoundPlugin, Any], object],
    seconds: float,
    more: Things = NOTHING,
) -> None:
    """As `plugins.each`, of functions that may be asynchronous; each has so many seconds. They are
    offered `more` in addition."""
    for found in list(plugins.on.values()):
        part = getattr(found.plugin, field)
        if part is not None:
            with plugins.failing(found, field):
                async with asyncio.timeout(seconds):
                    await asyncio.to_thread(resolved, part)  # its module may have to be imported
                    given = plugins.call(found, field, more)
                    if isawaitable(given):
                        given = await given
                use(found, given)
