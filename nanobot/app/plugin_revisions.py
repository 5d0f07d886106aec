"""The tables of plugins: their revisions, at a start and for work on a store that is at rest."""

from __future__ import annotations

from functools import partial
from typing import Any

from nanobot.app.plugged import Plugged
from nanobot.seam.installed import FoundPlugin, installed
from nanobot.seam.plugin import resolved
from nanobot.store.database.database import Database
from nanobot.store.plugin_tables import migrate_plugin


def plugin_revisions() -> dict[str, list[Any]]:
    """The revisions of the tables of each plugin, on or off. A plugin whose revisions cannot be
    loaded has none."""
    plugins, steps = installed(), dict[str, list[Any]]()
    for name, found in list(plugins.found.items()):
        if found.plugin.migrations:
            steps[name] = plugins.tried(name, "migrations", partial(revisions_of, found)) or []
    return steps


async def migrate_plugins(plugged: Plugged, database: Database) -> None:
    """Migrate the tables of plugins. A plugin whose migration fails is left out entirely."""
    for found in list(plugged.on.values()):
        if found.plugin.migrations:
            with plugged.failing(found, "migrations"):
                await migrate_plugin(database, found.name, revisions_of(found))
            if "migrations" in plugged.failures.get(found.name, {}):
                plugged.drop(found.name)


def revisions_of(found: FoundPlugin) -> list[Any]:
    """The revisions of a plugin's tables."""
    return [revision(step) for step in found.plugin.migrations]


def revision(step: Any) -> Any:
    """A statement unchanged; a function, or the function that a location names."""
    if isinstance(step, str) and " " in step.strip():
        return step
    return resolved(step)
