"""The tables of all installed plugins, for work on a store that is at rest."""

from __future__ import annotations

from functools import partial
from typing import Any

from nanobot.app.bringing import revisions_of
from nanobot.seam.installed import installed


def plugin_revisions() -> dict[str, list[Any]]:
    """The revisions of the tables of each plugin, on or off. A plugin whose revisions cannot be
    loaded has none."""
    plugins, steps = installed(), dict[str, list[Any]]()
    for name, found in list(plugins.found.items()):
        if found.plugin.migrations:
            steps[name] = plugins.tried(name, "migrations", partial(revisions_of, found)) or []
    return steps
