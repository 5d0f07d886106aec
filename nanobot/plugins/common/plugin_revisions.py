"""The revisions of the tables of plugins, for work on a store that is at rest."""

from __future__ import annotations

from functools import partial
from typing import Any

from nanobot.seam.installed import installed
from nanobot.seam.plugin import Plugin, revision


def plugin_revisions() -> dict[str, list[Any]]:
    """The revisions of the tables of each plugin, on or off. A plugin whose revisions cannot be
    loaded has none."""
    plugins, steps = installed(), dict[str, list[Any]]()

    def loaded(plugin: Plugin) -> list[Any]:
        return [revision(step) for step in plugin.migrations]

    for name, found in list(plugins.found.items()):
        if found.plugin.migrations:
            tried = plugins.tried(name, "migrations", partial(loaded, found.plugin))
            steps[name] = tried or []
    return steps
