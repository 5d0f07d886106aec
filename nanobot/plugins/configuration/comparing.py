"""What differs between two configurations."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot.config.plugin_tables import config_file
from nanobot.config.settings import Config, Tables
from nanobot.config.settings.base import Settings
from nanobot.plugins.common.keys.declared_keys import Applies, Key, declarations, keys_of


def differing(old: Config, new: Config) -> dict[str, Applies]:
    """The keys with different values, and when such a change takes effect."""
    before = {key.name: key for key in keys_of(old)}
    after = {key.name: key for key in keys_of(new)}
    nothing = object()
    return {
        name: (after.get(name) or before[name]).applies
        for name in before | after
        if _value(before.get(name), nothing) != _value(after.get(name), nothing)
    }


def with_live_keys(old: Config, new: Config) -> Config:
    """The old configuration with the new values of live keys."""
    names = Tables.__struct_fields__
    tables = {name: _merged(getattr(old, name), getattr(new, name)) for name in names}
    declared = declarations(config_file())
    for name, table in tables.items():
        if table is None:
            source = new if declared[name].applies == "now" else old
            tables[name] = getattr(source, name)
    own = {name: _merged(table, new.tables[name]) or table for name, table in old.tables.items()}
    return msgspec.structs.replace(old, **tables, tables=own)


def _value(key: Key | None, nothing: object) -> Any:
    return nothing if key is None else key.value


def _merged(old: Any, new: Any) -> Any:
    """A table with the new values of live keys; None: it is no table."""
    if not isinstance(old, Settings):
        return None
    values = {}
    for name, declared in declarations(type(old)).items():
        table = _merged(getattr(old, name), getattr(new, name))
        source = new if declared.applies == "now" else old
        values[name] = getattr(source, name) if table is None else table
    return msgspec.structs.replace(old, **values)
