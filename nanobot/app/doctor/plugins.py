"""Checks of packages and plugins, without a gateway."""

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
    """The extensions that a gateway leaves out. This loads the packages' code."""
    loader = plugins or Plugins()
    register_installed(ToolRegistry(), loader)
    run_types_of(loader, get_args(RunType))
    loader.survey(CHANNELS, "a channel", own=False)
    loader.survey(PROVIDERS, "a provider")
    loader.survey(TRIGGERS, "a trigger")
    config_file()  # leaves out plugins without a usable table
    return [*loader.left_out, *installed().left_out]


CHECK_SECONDS = 20.0
"""Time limit for the checks of one plugin."""


async def plugins(config: Config) -> AsyncIterator[Finding]:
    """Extensions that are left out, and the findings of plugins about themselves."""
    for left in broken():
        remedy = "Ask its author, or remove the package; all else works without it"
        yield Finding(about="plugins", level="warning", text=str(left), remedy=remedy)
    async for finding in checked(config):
        yield finding


async def checked(config: Config) -> AsyncIterator[Finding]:
    """The findings of enabled plugins about themselves. A plugin whose check fails is named."""
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
    """The findings from a check function's result: a sequence, an awaitable or an asynchronous
    iterator. Raises PluginBroken."""
    if inspect.isawaitable(given):
        given = await given
    if hasattr(given, "__aiter__"):
        given = [finding async for finding in given]
    return listed(given, Finding, "a nanobot.operations.home.Finding")
