"""Declarations of configuration keys: purpose, type, limits, and whether a change takes effect at
once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, get_args, get_origin

import msgspec

from nanobot.config.plugin_tables import config_file
from nanobot.config.reader import OPEN
from nanobot.config.settings import Config
from nanobot.config.settings.base import Settings
from nanobot.config.values import base_of, is_secret, metas_of

Applies: TypeAlias = Literal["now", "restart"]
Kind: TypeAlias = Literal[
    "text", "secret", "number", "integer", "boolean", "choice", "list", "table"
]


class KeyDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A key as its table declares it. `least` and `most`: the range of a number."""

    about: str
    """A sentence for people."""
    kind: Kind
    applies: Applies
    """When a change takes effect."""
    default: Any
    unit: str = ""
    choices: tuple[str, ...] = ()
    """All valid values, of a list those of its items."""
    least: float | None = None
    most: float | None = None
    above: bool = False
    """It must be more than `least`."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key with its value. `declared` None: only its adapter or package knows it."""

    name: str
    value: Any
    declared: KeyDeclaration | None
    applies: Applies


def keys_of(config: Config) -> Iterator[Key]:
    """Every key of a configuration, also those without a value; secrets unmasked."""
    whole = config_file()
    declared = declarations(whole)
    for name in whole.__struct_fields__:
        if name in config.tables or hasattr(config, name):
            yield from _keys(name, config.value(name), whole, declared[name])


def hint_of(key: str) -> Any:
    """The type of a key; None if it is unknown or only an adapter knows it."""
    kind: Any = config_file()
    for part in key.split("."):
        kind = base_of(kind)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            kind = {field.name: field.type for field in msgspec.structs.fields(kind)}.get(part)
            kind = None if part == OPEN else kind
        elif get_origin(kind) is Mapping:
            kind = get_args(kind)[1]
        else:
            return None
    return kind


@cache
def declarations(table: type[Settings]) -> Mapping[str, KeyDeclaration]:
    """The keys of a table."""
    return {field.name: _declaration(field) for field in msgspec.structs.fields(table)}


def _keys(path: str, value: Any, table: type[Settings], declared: KeyDeclaration) -> Iterator[Key]:
    if isinstance(value, Settings):
        for name, own in declarations(type(value)).items():
            # Settings of an adapter are written in its table, next to the keys of all adapters.
            below = path if name == OPEN else f"{path}.{name}"
            yield from _keys(below, getattr(value, name), type(value), own)
    elif isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _keys(f"{path}.{name}", item, table, _unknown(declared))
    elif not isinstance(value, Mapping):
        known = None if declared.kind == "table" and not declared.about else declared
        yield Key(name=path, value=value, declared=known, applies=declared.applies)


def _unknown(declared: KeyDeclaration) -> KeyDeclaration:
    """The declaration of keys below a table with free names, if they have none."""
    return KeyDeclaration(about="", kind="table", applies=declared.applies, default=None)


def _declaration(field: msgspec.structs.FieldInfo) -> KeyDeclaration:
    metas = list(metas_of(field.type))
    more = {name: value for meta in metas for name, value in (meta.extra_json_schema or {}).items()}
    kind, choices = _kind(field.name, base_of(field.type))
    bounds = next((meta for meta in metas if meta.ge is not None or meta.gt is not None), None)
    least = None if bounds is None else bounds.gt if bounds.ge is None else bounds.ge
    default = None if field.default is msgspec.NODEFAULT else field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    return KeyDeclaration(
        about=next((meta.description for meta in metas if meta.description), ""),
        kind=kind,
        applies=more.get("applies", "restart"),
        default=None if kind == "table" else default,
        unit=more.get("unit", ""),
        choices=choices,
        least=least,
        most=None if bounds is None else bounds.le,
        above=bounds is not None and bounds.gt is not None,
    )


def _kind(name: str, base: Any) -> tuple[Kind, tuple[str, ...]]:
    if get_origin(base) is Literal:
        return "choice", get_args(base)
    if get_origin(base) is tuple:
        item = base_of(get_args(base)[0])
        if isinstance(item, type) and issubclass(item, Settings):
            return "table", ()
        return "list", get_args(item) if get_origin(item) is Literal else ()
    if base is str:
        return ("secret" if is_secret(name) else "text"), ()
    kinds: dict[Any, Kind] = {bool: "boolean", int: "integer", float: "number"}
    return kinds.get(base, "table"), ()
