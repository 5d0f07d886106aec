"""The installed plugins, built-in and from packages, loaded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec

from nanobot import texts
from nanobot.boundary import boundary
from nanobot.errors import PluginBroken
from nanobot.seam.entry_points import PLUGINS, PROVIDERS, BrokenPlugin, LoadedPlugin, Plugins
from nanobot.seam.given import failing
from nanobot.seam.plugin import FUNCTIONS, FileReader, Guidance, Part, Plugin, resolved
from nanobot.text import pattern
from nanobot.texts import Translate

T = TypeVar("T")
_NAME = pattern(r"[a-z][a-z0-9_]{0,31}")


class Interface(msgspec.Struct, Generic[T], frozen=True):
    """The name of a function of type T that one plugin provides, in its `provides`, and that others
    use, by `provided`."""

    name: str
    own: bool = False
    """Only a plugin of nanobot provides it."""


TRANSLATED: Interface[Translate] = Interface("translated")
"""Says texts of nanobot's in other languages."""


class FoundPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded plugin. `package`: its distribution; "": built in."""

    plugin: Plugin
    package: str

    @property
    def name(self) -> str:
        return self.plugin.name

    @property
    def table(self) -> str:
        """The name of its table in the configuration."""
        return self.plugin.table or self.plugin.name

    @property
    def shared_keys(self) -> list[str]:
        """The keys that it adds to tables of the core, with these tables, as `agent.recall`."""
        parts = self.plugin.shares
        return [f"{part.part_of}.{key}" for part in parts for key in part.__struct_fields__]


class Installed:
    """Plugins by name, in the order in which they take part; `left_out`: unusable ones, and why."""

    def __init__(self, found: dict[str, FoundPlugin], left_out: list[BrokenPlugin]) -> None:
        self.found = found
        self.left_out = left_out

    def having(self, field: str, key: str) -> list[tuple[FoundPlugin, Part]]:
        """The plugins with that key in that field, on or off, each with its part."""
        parts = [(found, getattr(found.plugin, field).get(key)) for found in self.found.values()]
        return [(found, part) for found, part in parts if part is not None]

    def tried(
        self, name: str, field: str, call: Callable[[], T], *passing: type[Exception]
    ) -> T | None:
        """The result of `call`, which uses that field of a plugin. If it raises anything but a
        `passing` error, the plugin is left out and the result is None."""

        def leave_out(why: str) -> None:
            found = self.found.pop(name, None)
            if found is not None:
                left = BrokenPlugin(
                    group=PLUGINS, name=name, package=found.package, why=f"{field}: {why}"
                )
                self.left_out.append(left.reported())

        with failing(f"{field} of the plugin {name}", leave_out, *passing):
            return call()
        return None


def provided(interface: Interface[T], among: Mapping[str, FoundPlugin] | None = None) -> T | None:
    """The function that a plugin provides for an interface, on or off, or only `among` these; None
    if no plugin does, or if it cannot be loaded."""
    for name, found in (installed().found if among is None else among).items():
        part = found.plugin.provides.get(interface.name)
        if part is not None and not (interface.own and found.package):
            with boundary(f"{interface.name} of the plugin {name}"):
                return cast("T", resolved(part))
    return None


def clients() -> tuple[str, ...]:
    """The names of the ways to models of plugins, on or off, and of packages."""
    found = installed().found.values()
    names = [name for each in found for name in each.plugin.providers]
    return (*dict.fromkeys(names), *Plugins().names(PROVIDERS))


def installed() -> Installed:
    """The installed plugins. Other packages' code cannot make this fail."""
    return _loaded(tuple(Plugins().points(PLUGINS)))


@lru_cache(maxsize=4)
def _loaded(points: tuple[EntryPoint, ...]) -> Installed:
    loader = Plugins(points)
    loader.names(PLUGINS)  # leaves out duplicate names
    found: dict[str, FoundPlugin] = {}

    def use(loaded: LoadedPlugin) -> None:
        wrong = trouble(loaded.what, loaded.name)
        if wrong:
            raise PluginBroken(wrong)
        package = "" if loader.built_in(loaded) else loaded.package
        if package and loaded.what.tables:  # an import that fails would leave no store to open
            raise PluginBroken("a package's tables are made by its migrations, not named in tables")
        if loaded.name not in found:
            found[loaded.name] = FoundPlugin(plugin=loaded.what, package=package)

    loader.each(PLUGINS, use)
    ordered = _in_order(found)
    folders = {name: each.plugin.texts for name, each in ordered.items()}
    known = {name: folder for name, folder in folders.items() if folder is not None}
    texts.use(known, partial(provided, TRANSLATED, ordered))
    return Installed(ordered, loader.left_out)


def trouble(what: Any, name: str) -> str:
    """The mistake in a plugin's definition; empty if there is none."""
    if not isinstance(what, Plugin):
        return f"it gives a {type(what).__name__}, not a nanobot.seam.plugin.Plugin"
    names = (what.requires, what.packages, what.after, what.tables, what.reserves, what.paths)
    parts = [getattr(what, field) for field in FUNCTIONS]
    settings = what.settings
    promises = (
        (what.name == name, f"its name is {what.name!r}, not that of its entry point"),
        (_NAME.fullmatch(name), "its name is not of small letters, digits and _, 32 at most"),
        (str(what.summary).strip(), "it has no summary"),
        (
            all(isinstance(each, tuple) for each in names),
            "requires, packages, after, tables, reserves and paths must be tuples",
        ),
        (settings is None or isinstance(settings, type), "settings is not a class"),
        (isinstance(what.table, str), "table is not a text"),
        (isinstance(what.shares, tuple), "shares is not a tuple"),
        (what.texts is None or isinstance(what.texts, Path), "texts is not a pathlib.Path"),
        (isinstance(what.migrations, tuple), "migrations is not a tuple"),
        (_are(Guidance, what.guidance), "guidance is not a tuple of nanobot.seam.faces.Guidance"),
        (
            _are(FileReader, what.readers),
            "readers is not a tuple of nanobot.seam.faces.FileReader",
        ),
        (all(p is None or isinstance(p, str) or callable(p) for p in parts), _NO_FUNCTION),
        (callable(what.idle), "idle is not a function"),
        (
            all(isinstance(getattr(what, field), Mapping) for field in _MAPPINGS),
            "blobs, databases, groups, provides and providers must be mappings",
        ),
    )
    return next((why for holds, why in promises if not holds), "")


def _are(kind: type[Any], given: Any) -> bool:
    return isinstance(given, tuple) and all(isinstance(each, kind) for each in given)


_MAPPINGS = ("blobs", "databases", "groups", "provides", "providers")
_NO_FUNCTION = "each of its parts must be a function, or the place of one"


def _in_order(found: dict[str, FoundPlugin]) -> dict[str, FoundPlugin]:
    """Each plugin after those that it requires or comes after; otherwise in the order found."""
    before = {
        name: [other for other in (*each.plugin.requires, *each.plugin.after) if other in found]
        for name, each in found.items()
    }
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return found
    ordered: dict[str, FoundPlugin] = {}

    def place(name: str) -> None:
        if name not in ordered:
            for other in before[name]:
                place(other)
            ordered[name] = found[name]

    for name in found:
        place(name)
    return ordered
