"""A plugin of any package, tried without a gateway: its parts are there and give what they must.

async def test_it_is_whole() -> None:
    async with tried(PLUGIN) as plugin:
        (tool,) = plugin.tools()
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from nanobot.config.settings.base import Settings
from nanobot.operations.home import Finding
from nanobot.operations.operation import Operation
from nanobot.plugins.common.plugin_checks import findings_of
from nanobot.plugins.common.translation.files import rows_in
from nanobot.plugins.kit.machine import ManualClock
from nanobot.plugins.kit.promises import that
from nanobot.ports import Clock
from nanobot.seam.installed import trouble
from nanobot.seam.offers import Offers, Things
from nanobot.seam.plugin import FUNCTIONS, Plugin, resolved, revision
from nanobot.seam.tables import PluginTables
from nanobot.store.opening import in_memory_database
from nanobot.store.plugin_tables import SqlPluginTables, migrate_plugin
from nanobot.tools.base import AnyTool
from nanobot.tools.plugins import offered


class TriedPlugin:
    """A plugin over a database in memory and a clock that does not move. `things` are further
    arguments for its functions, by type.
    """

    def __init__(self, plugin: Plugin, settings: Settings | None, things: Things) -> None:
        self.plugin = plugin
        self.settings = settings
        self._own = dict(things)
        if settings is not None:
            self._own[type(settings)] = settings

    def give(self, field: str) -> Any:
        """The result of the function in that field."""
        return Offers().call(resolved(getattr(self.plugin, field)), self._own)

    def tools(self) -> list[AnyTool]:
        """Its tools. Raises UsageError for a tool that cannot be offered."""
        return offered(self.give("tools"))

    def operations(self) -> list[Operation]:
        """Its operations."""
        return list(self.give("operations"))

    async def findings(self) -> list[Finding]:
        """Its report for `nanobot doctor`."""
        return await findings_of(self.give("checks"))

    @asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Runs as long as a gateway serves."""
        manager = self.give("start")
        if manager is None:
            yield
            return
        async with manager:
            yield


@asynccontextmanager
async def tried(
    plugin: Plugin, settings: Settings | None = None, things: Things | None = None
) -> AsyncIterator[TriedPlugin]:
    """The plugin with its tables, and with these settings or the default ones. Raises
    AssertionError for anything that nanobot would skip.
    """
    wrong = trouble(plugin, plugin.name)
    that(not wrong, f"it can be used: {wrong}")
    if plugin.settings is not None and settings is None:
        made = plugin.settings()
        that(isinstance(made, Settings), "settings is a subclass of nanobot's Settings")
        msgspec.json.schema(plugin.settings)
        settings = made if isinstance(made, Settings) else None
    if plugin.texts is not None:
        _check_texts(plugin.texts)
    for field in FUNCTIONS:
        part = getattr(plugin, field)
        if part is not None:
            inspect.signature(resolved(part))
    database = in_memory_database()
    try:
        await migrate_plugin(database, plugin.name, [revision(each) for each in plugin.migrations])
        own = {Clock: ManualClock(), PluginTables: SqlPluginTables(database), **(things or {})}
        yield TriedPlugin(plugin, settings, own)
    finally:
        await database.close()


def _check_texts(folder: Path) -> None:
    files = sorted(folder.glob("??.toml"))
    that(files, f"there are translations in {folder}")
    for file in files:
        wrong = ""
        try:
            rows_in(file)
        except (OSError, ValueError) as error:
            wrong = str(error)
        that(not wrong, f"{file.name} can be used: {wrong}")
