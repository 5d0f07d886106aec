"""What other packages and plugins add, looked at without a gateway."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any, get_args

from nanobot.agent.tasks.types import installed as run_types_of
from nanobot.app.bringing import listed
from nanobot.app.plugged import Plugged
from nanobot.config.loader import Config
from nanobot.config.plugin_tables import config_file
from nanobot.config.settings.agent import RunType
from nanobot.operations.home import Finding
from nanobot.seam.entry_points import CHANNELS, PROVIDERS, TRIGGERS, BrokenPlugin, Plugins
from nanobot.seam.installed import installed
from nanobot.tools.plugins import register_installed
from nanobot.tools.registry import ToolRegistry


def broken(plugins: Plugins | None = None) -> list[BrokenPlugin]:
    """What a gateway leaves out. The packages' code is loaded for it."""
    loader = plugins or Plugins()
    register_installed(ToolRegistry(), loader)
    run_types_of(loader, get_args(RunType))
    loader.survey(CHANNELS, "a channel", own=False)
    loader.survey(PROVIDERS, "a provider")
    loader.survey(TRIGGERS, "a trigger")
    config_file()  # leaves out what has no usable table
    return [*loader.left_out, *installed().left_out]


CHECK_SECONDS = 20.0
"""So long may the checks of one plugin take."""


async def plugins(config: Config) -> AsyncIterator[Finding]:
    """What packages and plugins add: what of it is left out, and what plugins say of themselves."""
    for left in broken():
        remedy = "Ask its author, or remove the package; all else works without it"
        yield Finding(about="plugins", level="warning", text=str(left), remedy=remedy)
    async for finding in checked(config):
        yield finding


async def checked(config: Config) -> AsyncIterator[Finding]:
    """What the plugins that are on say of themselves. One that fails over it is named."""
    plugged = Plugged(config)
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
    """What a function of checks gives: findings, or an awaitable or asynchronous iterator of
    them. Raises PluginBroken."""
    if inspect.isawaitable(given):
        given = await given
    if hasattr(given, "__aiter__"):
        given = [finding async for finding in given]
    return listed(given, Finding, "a nanobot.operations.home.Finding")
