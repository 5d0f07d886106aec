"""Why nothing is served at a path."""

from __future__ import annotations

from nanobot.operations.catalogue import plugin_with
from nanobot.seam.installed import installed
from nanobot.seam.offers import Contributions
from nanobot.seam.plugin import Plugin
from nanobot.text import Sentence


def absent(plugins: Contributions, path: str) -> Sentence:
    """Why nothing is served at a path that belongs to a plugin which is not on, or which
    failed; else ""."""
    api = path.removeprefix("/api/")
    owner = "" if api == path else plugin_with(api.replace("/", " "))
    for name, found in installed().found.items():
        if name != owner and not _serves(found.plugin, path):
            continue
        if why := plugins.off.get(name):
            return f"This belongs to the plugin {name}. {why}"
        if plugins.failures.get(name):
            return f"This belongs to the plugin {name}, which failed: `plugins list` says why."
    return ""


def _serves(plugin: Plugin, path: str) -> bool:
    places = (f"/plugins/{plugin.name}/", *plugin.paths)
    below = tuple(each for each in places if len(each) > 1 and each.endswith("/"))
    return path in places or path.startswith(below)
