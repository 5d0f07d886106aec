"""The tables of plugins, which work like those of the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec

from nanobot.config.settings import Config, ConfigFile
from nanobot.config.settings.base import Settings, about
from nanobot.config.values import base_of, metas_of
from nanobot.errors import PluginBroken
from nanobot.seam.installed import FoundPlugin, Installed
from nanobot.seam.installed import installed as plugins

S = TypeVar("S", bound=Settings)


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


def set_keys(found: FoundPlugin, config: Config) -> list[str]:
    """The keys that a plugin adds to tables of the core and that do not have their defaults."""
    return [
        f"{part.part_of}.{key}"
        for part in found.plugin.shares
        for key, usual in msgspec.structs.asdict(part()).items()
        if getattr(config.of(part), key) != usual
    ]


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
    for field in msgspec.structs.fields(ConfigFile):
        shared = (kind for each in installed.found.values() for kind in each.plugin.shares)
        kinds = dict.fromkeys(kind for kind in shared if kind.part_of == field.name)
        if kinds:
            table = _extended(base_of(field.type), [key for kind in kinds for key in _keys(kind)])
            fields.append((field.name, Annotated[(table, *metas_of(field.type))], table()))
    return _extended(ConfigFile, fields)


def _keys(kind: type[Settings]) -> list[tuple[str, Any, Any]]:
    return [(key.name, key.type, key.default) for key in msgspec.structs.fields(kind)]


def _extended(base: type[S], fields: Sequence[tuple[str, Any, Any]]) -> type[S]:
    """The same table with more keys."""
    whole = msgspec.defstruct(
        base.__name__,
        fields,
        bases=(base,),
        namespace={"__doc__": base.__doc__},
        module=__name__,
        frozen=True,
        kw_only=True,
    )
    return cast("type[S]", whole)


def _default(found: FoundPlugin, taken: Sequence[str]) -> Settings | Mapping[str, Settings] | None:
    """The default table of a plugin; None: it has none. Raises PluginBroken, and any exception of
    the plugin's code."""
    if found.package and found.plugin.table:
        raise PluginBroken("its table has the name of the plugin: leave out `table`")
    if found.package and found.plugin.shares:
        raise PluginBroken("it has its own table for its keys: leave out `shares`")
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
    return bool(plugins().having(field, scheme))


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
