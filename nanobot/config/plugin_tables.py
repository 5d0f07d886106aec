"""The tables of plugins, which work like those of the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Annotated, Any, Literal, cast

import msgspec

from nanobot.config.settings import Config, ConfigFile
from nanobot.config.settings.base import Settings, about
from nanobot.errors import PluginBroken
from nanobot.seam.installed import FoundPlugin, Installed
from nanobot.seam.installed import installed as plugins


def config_file() -> type[ConfigFile]:
    """The struct of config.toml: the tables of the core, and those of plugins."""
    installed = plugins()
    return _whole(installed, tuple(installed.found))


def plugin_tables() -> Mapping[str, type[Settings]]:
    """The tables of plugins, by their names in the configuration."""
    config_file()  # leaves out unreadable ones
    return {
        found.table: found.plugin.settings
        for found in plugins().found.values()
        if found.plugin.settings is not None and issubclass(found.plugin.settings, Settings)
    }


def plugin_of(table: str) -> str:
    """The plugin that has this table; the same name if none has it."""
    found = plugins().found.values()
    return next((each.name for each in found if each.table == table), table)


def switched_off(keys: Sequence[str], config: Config) -> list[str]:
    """The plugins that people switched off of those that have these keys or tables."""
    of_keys = dict.fromkeys(plugin_of(key.partition(".")[0]) for key in keys)
    return [plugin for plugin in of_keys if plugin in config.plugins.off]


@lru_cache(maxsize=8)
def _whole(installed: Installed, _names: tuple[str, ...]) -> type[ConfigFile]:
    fields: list[tuple[str, Any, Any]] = []
    for name, found in list(installed.found.items()):
        taken = (*ConfigFile.__struct_fields__, *(field[0] for field in fields))
        default = installed.tried(name, "settings", partial(_default, found, taken))
        if default is not None:
            own: Any = found.plugin.settings
            table = Mapping[str, own] if found.plugin.named else own
            kind: Any = Annotated[table, about(found.plugin.summary)]
            fields.append((found.table, kind, default))
    whole = msgspec.defstruct(
        "ConfigFile",
        fields,
        bases=(ConfigFile,),
        namespace={"__doc__": ConfigFile.__doc__},
        module=__name__,
        frozen=True,
        kw_only=True,
    )
    return cast("type[ConfigFile]", whole)


def _default(found: FoundPlugin, taken: Sequence[str]) -> Settings | Mapping[str, Settings] | None:
    """The default table of a plugin; None: it has none. Raises PluginBroken, and any exception of
    the plugin's code."""
    if found.package and found.plugin.table:
        raise PluginBroken("its table has the name of the plugin: leave out `table`")
    if found.table in taken:
        raise PluginBroken(f"the name {found.table} is taken: it is a key of the configuration")
    kind = found.plugin.settings
    if kind is None:
        return None
    if not issubclass(kind, Settings):
        raise PluginBroken(f"it is {kind.__name__}, no subclass of nanobot's Settings")
    if found.package:
        msgspec.json.schema(kind)
    return {} if found.plugin.named else kind()


def brings(field: Literal["blobs", "databases"], scheme: str) -> bool:
    """Whether a plugin, on or off, brings such storages or databases for URLs that begin so."""
    return any(scheme in getattr(found.plugin, field) for found in plugins().found.values())


class Switched(msgspec.Struct, frozen=True, kw_only=True):
    """The enabled plugins in order, and why each of the others is off."""

    on: Mapping[str, Any]
    off: Mapping[str, str]


def switched(config: Config) -> Switched:
    """Which installed plugins are on."""
    config_file()
    on: dict[str, FoundPlugin] = {}
    off: dict[str, str] = {}
    installed = plugins()
    for name, found in list(installed.found.items()):
        why = installed.tried(name, "idle", partial(_off, found, config, on))
        if why:
            off[name] = why
        elif why is not None:
            on[name] = found
    return Switched(on=on, off=off)


def _off(found: FoundPlugin, config: Config, on: Mapping[str, FoundPlugin]) -> str:
    """Why a plugin is off, after checking those that it requires."""
    plugin = found.plugin
    if plugin.name in config.plugins.off:
        return f"It is switched off: nanobot plugins on {plugin.name}"
    for package in plugin.packages:
        if find_spec(package) is None:
            return f"It needs the Python package {package}, which is not installed."
    for other in plugin.requires:
        if other not in on:
            if other in config.plugins.off:
                return f"It needs the plugin {other}: nanobot plugins on {other}"
            return f"It needs the plugin {other}, which is not on."
    return str(plugin.idle(config.tables.get(found.table)))
