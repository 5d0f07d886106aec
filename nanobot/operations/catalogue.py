"""The one list of operations: those of the core, and those of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from nanobot.boundary import boundary
from nanobot.operations import conversation
from nanobot.operations.operation import Operation
from nanobot.seam.installed import Installed, installed
from nanobot.seam.offers import NOTHING, Offers
from nanobot.seam.plugin import resolved
from nanobot.text import Sentence

OPERATIONS: tuple[Operation, ...] = tuple(
    each for each in vars(conversation).values() if isinstance(each, Operation)
)


def plugin_operations() -> list[Operation]:
    """Those of every plugin that is installed, on or off: for a command line, which knows no
    configuration yet. What fails is said where the plugins are listed."""
    return [operation for _, operation in _of_plugins()]


def plugin_with(name: str) -> str:
    """The installed plugin that has the operation of that name, on or off; "" if none has."""
    return _owners(installed()).get(name, "")


def plugin_with_word(word: str) -> str:
    """The installed plugin with operations whose names begin with that word; "" if none has."""
    owners = _owners(installed()).items()
    return next((plugin for name, plugin in owners if name.split()[0] == word), "")


def off_here(what: str, plugin: str) -> Sentence:
    """What is said to people who ask for something of a plugin that is not on."""
    if plugin == plugin_with("plugins on"):
        return (
            f"{what} belongs to the plugin {plugin}, which is off here: take it out of plugins.off "
            "in config.toml, and start nanobot again."
        )
    return (
        f"{what} belongs to the plugin {plugin}, which is off here: `plugins list` says why, "
        f"`plugins on {plugin}` switches it on."
    )


@lru_cache(maxsize=4)
def _owners(_: Installed) -> Mapping[str, str]:
    """The plugins by the names of their operations."""
    of_plugins = _of_plugins()
    named = {each.alias: plugin for plugin, each in of_plugins if each.alias}
    return named | {each.name: plugin for plugin, each in of_plugins}


def _of_plugins() -> list[tuple[str, Operation]]:
    """Each with the name of its plugin."""
    found: list[tuple[str, Operation]] = []
    names = {name for known in OPERATIONS for name in (known.name, known.alias, known.command)}
    for name, each in installed().found.items():
        if each.plugin.operations is None:
            continue
        with boundary(f"operations of the plugin {name}"):
            given = Offers().call(resolved(each.plugin.operations), NOTHING)
            for operation in given or ():
                if isinstance(operation, Operation) and operation.name not in names:
                    if each.package:  # a test reads those of the built-in ones
                        operation.check_annotations()
                    found.append((name, operation))
    return found
