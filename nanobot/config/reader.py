"""Reads tables of the configuration from a file's tree, overlaid with the environment.

The structs of `nanobot.config.settings` define the keys. A mistake is a ConfigError that names the
place, the key, its value and the valid values; an unknown key is only a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache
from math import nan
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from nanobot.config.plugin_tables import config_file, plugin_of, plugin_tables
from nanobot.config.settings.agent import CLIENTS, ProviderSettings
from nanobot.config.settings.base import Settings, Unfit
from nanobot.config.values import (
    MOST_PARTS,
    EnvironmentText,
    allowed,
    base_of,
    follow,
    from_text,
    ids,
    marked,
    quoted,
    shown,
    spelled,
    variable_of,
)
from nanobot.errors import ConfigError, UnsetReference
from nanobot.messages import TERMINAL, WEB
from nanobot.seam.installed import clients
from nanobot.seam.installed import installed as plugins
from nanobot.text import pattern

T = TypeVar("T", bound=Settings)
_PREFIX = "NANOBOT_"
_NOT_KEYS = frozenset({"NANOBOT_HOME", "NANOBOT_CRASH_AT"})
_DESIGNED = {
    "AGENT_LOOP_ENABLED": "agent.triage",
    "AGENT_DECISION_MODEL": "agent.decision.model",
    "AGENT_ALLOWED_RUN_TYPES": "agent.decision.allowed_run_types",
    "AGENT_DECISION_TIMEOUT_SECONDS": "agent.decision.timeout_seconds",
    "AGENT_DECISION_FALLBACK_MODE": "agent.decision.fallback_mode",
}
"""Variables of another design that nanobot follows, with our keys. They may belong to another
program, so they are not read."""
_NAME = pattern(r"[A-Za-z0-9_-]{1,64}")
_IDS = (".owners", ".members", ".guests")
OPEN = "settings"
"""The field for an adapter's settings, which are written among the keys of its table."""


class Reader:
    """One load. A mistake is raised, or noted in `problems` and its key left out. A reference to a
    missing variable or file is raised too, or noted in `unset` and left as written."""

    def __init__(
        self,
        home: Path,
        file: Path,
        environ: Mapping[str, str],
        problems: list[str] | None = None,
        unset: dict[str, str] | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self.off: tuple[str, ...] = ()
        """The disabled plugins."""
        self._home = home
        self._file = file
        self.environ = environ
        self._problems = problems
        self._unset = unset

    @contextmanager
    def noting(self) -> Iterator[None]:
        """While inside, note mistakes if they are not to be raised."""
        try:
            yield
        except ConfigError as error:
            if self._problems is None:
                raise
            self._problems.append(str(error))

    # The environment

    def overlay(self, tree: dict[str, Any]) -> None:
        """Let the environment override the file. An empty variable counts as unset."""
        for variable in sorted(self.environ):
            text = self.environ[variable]
            if not variable.startswith(_PREFIX) or variable in _NOT_KEYS or not text:
                continue
            parts = variable.removeprefix(_PREFIX).lower().split("__")
            if len(parts) <= MOST_PARTS and _leads_to_a_key(parts):
                with self.noting():
                    self._put(tree, parts, EnvironmentText(text, variable))
            elif len(parts) > 1 or get_close_matches(parts[0], config_file().__struct_fields__):
                self._unknown(".".join(parts), _every_key(), EnvironmentText("", variable))
        for variable, key in _DESIGNED.items():
            if self.environ.get(variable):
                ours = variable_of(key)
                self.warnings.append(
                    f"environment variable {variable} is not read: set {ours}, or {key} in "
                    "config.toml"
                )

    def _put(self, tree: dict[str, Any], parts: list[str], text: EnvironmentText) -> None:
        node = tree
        for depth, part in enumerate(parts[:-1]):
            child = node.setdefault(spelled(node, part), {})
            if not isinstance(child, dict):
                raise self.wrong(".".join(parts[: depth + 1]), child, "a table")
            node = child
        node[spelled(node, parts[-1])] = text

    # Tables

    def table(self, kind: type[T], value: Any, path: str) -> T:
        """The table at a path, with the tables below it."""
        items = dict(self._items(value, path))
        fields = _fields(kind)
        adapts = OPEN in fields and self._is_open(kind, items, path)
        values: dict[str, Any] = {}
        others: dict[str, Any] = {}
        prefix = f"{path}." if path else ""
        for key, value in items.items():
            if key not in fields or key == OPEN:
                others[key] = value
                continue
            with self.noting():
                values[key] = self._field(fields[key], value, prefix + key)
        if adapts:
            values[OPEN] = self._adapters(kind, others, prefix)
        elif others:
            self._strangers(kind, others, path)
        values = kind.completed(values, path.rpartition(".")[2])
        for field in fields.values():
            if field.required and field.name not in values:
                raise ConfigError(
                    f"{self._place(items)}: {prefix}{field.name} is missing. It must be "
                    f"{allowed(field.type)}."
                )
        try:
            return kind(**values)
        except Unfit as unfit:
            default = getattr(fields.get(unfit.key), "default", None)
            value = items.get(unfit.key, default) if unfit.key else items
            raise self.wrong(f"{prefix}{unfit.key}".rstrip("."), value, unfit.expected) from None

    def _strangers(self, kind: type[Settings], others: Mapping[str, Any], path: str) -> None:
        """Warn about each unknown key. Raise an error if it could be a limit or is a table with a
        mistyped name, because all of its keys would be ignored."""
        prefix = f"{path}." if path else ""
        fields = [name for name in kind.__struct_fields__ if name != OPEN]
        for key, value in others.items():
            if kind.__struct_config__.forbid_unknown_fields:
                expected = f"left out: {path} has no keys but {', '.join(fields)}"
                raise self.wrong(prefix + key, value, expected)
            near = get_close_matches(key, fields, n=1) if isinstance(value, dict) else []
            if near:
                with self.noting():
                    raise ConfigError(
                        f"{self._place(value)}: there is no table [{quoted(prefix + key)}]; did "
                        f"you mean [{prefix}{near[0]}]? Rename it."
                    )
            else:
                self._unknown(prefix + key, [prefix + name for name in fields], value)

    def _is_open(self, kind: type[Settings], items: Mapping[str, Any], path: str) -> bool:
        """Whether the table has keys of an adapter: a provider's does only with another package's
        client."""
        if kind is not ProviderSettings:
            return True
        client = items.get("client", "auto")
        name = client.text if isinstance(client, EnvironmentText) else client
        if not isinstance(name, str) or name in CLIENTS:
            return False
        names = clients()
        if name not in names:
            choices = ", ".join(f'"{item}"' for item in dict.fromkeys((*CLIENTS, *names)))
            raise self.wrong(f"{path}.client", client, f"one of {choices}")
        return True

    def _adapters(
        self, kind: type[Settings], others: Mapping[str, Any], prefix: str
    ) -> dict[str, Any]:
        """The settings of an adapter, with a warning for a possible mistyping."""
        settings = {}
        for key, value in others.items():
            near = get_close_matches(key, kind.__struct_fields__, n=1, cutoff=0.8)
            if near and kind is not ProviderSettings:
                self._unknown(prefix + key, [prefix + near[0]], value)
            with self.noting():
                settings[key] = self._adapter(value, prefix + key)
        return settings

    def _adapter(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {name: self._adapter(item, f"{key}.{name}") for name, item in value.items()}
        if isinstance(value, list):
            return [self._adapter(item, key) for item in value]
        return self._resolved(value, key)[0]

    def _items(self, value: Any, path: str) -> list[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise self.wrong(path, value, f"a table: write [{path}] and its keys below it")
        return list(value.items())

    def _named(self, kind: type[T], value: Any, path: str, *, checked: bool = True) -> dict[str, T]:
        """The tables below a path, by name. `checked`: people, and not a platform, choose the
        names."""
        tables: dict[str, T] = {}
        for name, table in self._items(value, path):
            with self.noting():
                key = f"{path}.{quoted(name)}"
                if checked:
                    self._check_name(name, path)
                reader = self if self._is_on(kind, table, key) else self._lenient()
                tables[name] = reader.table(kind, table, key)
        return tables

    def _is_on(self, kind: type[Settings], table: Any, path: str) -> bool:
        """Whether a named table is enabled."""
        fields = _fields(kind)
        if path.count(".") > 1 or "enabled" not in fields:
            return True
        switch = dict(self._items(table, path)).get("enabled", True)
        return bool(self._value(fields["enabled"], switch, f"{path}.enabled"))

    def _of_plugin(self, kind: type[Settings], value: Any, name: str, *, named: bool) -> Any:
        """The table of a plugin, or those that people `named`. One that is switched off stops no
        start; one whose own code fails over it is left out."""

        def read(reader: Reader) -> Any:
            return reader._named(kind, value, name) if named else reader.table(kind, value, name)

        plugin = plugin_of(name)
        if plugin in self.off:
            with suppress(ConfigError):
                return read(self._lenient())
            return {} if named else kind()
        table = plugins().tried(plugin, "settings", lambda: read(self), ConfigError)
        return table if table is not None else {} if named else kind()

    def _lenient(self) -> Reader:
        """For disabled tables: mistakes are left out, because they must not stop the start."""
        return Reader(self._home, self._file, self.environ, [])

    def _check_name(self, name: str, path: str) -> None:
        # Terminal and page users are owners: no platform may use these channel names.
        reserved = path == "channels" and name in (TERMINAL, WEB)
        if reserved or not _NAME.fullmatch(name):
            raise ConfigError(
                f"{self._file}: [{path}.{quoted(name)}] cannot be a name here. Use letters, "
                f"digits, - and _, at most 64; no channel may be called '{TERMINAL}' or '{WEB}'."
            )

    # Values

    def _field(self, field: msgspec.structs.FieldInfo, value: Any, key: str) -> Any:
        kind, each = _table_kind(field.type)
        if kind is None:
            return self._value(field, value, key)
        if key in plugin_tables():
            return self._of_plugin(kind, value, key, named=each is Mapping)
        if each is Mapping:
            checked = "." not in key or marked(field.type, "named")
            return self._named(kind, value, key, checked=checked)
        if each is tuple:
            if not isinstance(value, list):
                expected = f"a list of tables: write [[{key}]] above each"
                raise self.wrong(key, value, expected)
            rows = enumerate(value, 1)
            return tuple(self.table(kind, item, f"{key}.{number}") for number, item in rows)
        return self.table(kind, value, key)

    def _value(self, field: msgspec.structs.FieldInfo, raw: Any, key: str) -> Any:
        value, loose = self._resolved(raw, key)
        if loose:
            value = from_text(field.type, value)
        if isinstance(value, list):
            value = [self._resolved(item, key)[0] for item in value]
        elif isinstance(value, dict):
            value = {name: self._resolved(v, f"{key}.{name}")[0] for name, v in value.items()}
        if key.endswith(_IDS):
            value = ids(value)
        try:
            converted = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            converted = nan
        if converted != converted:  # NaN: no bound refuses it
            raise self.wrong(key, raw, allowed(field.type), default=field.default)
        return converted

    def _resolved(self, raw: Any, key: str) -> tuple[Any, bool]:
        """The value, and whether it is text that takes the type of its key."""
        text = raw.text if isinstance(raw, EnvironmentText) else raw
        if not isinstance(text, str):
            return text, False
        try:
            value = follow(text, f"{self._place(raw)}: {key}", self._home, self.environ)
        except UnsetReference as error:
            # Keys outside tables choose the database and folders: always resolved.
            if self._unset is None or "." not in key:
                raise
            self._unset[key] = str(error)
            return text, False
        if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
            raise self.wrong(key, raw, "text in UTF-8 without zero bytes")
        return value, isinstance(raw, EnvironmentText) or value is not text

    # Messages

    def _unknown(self, key: str, keys: list[str], raw: Any) -> None:
        last = key.rpartition(".")[2]
        same = [other for other in _every_key() if other.rpartition(".")[2] == last]
        # Several tables have a key with that name: most likely the agent's is meant.
        same = same if len(same) == 1 else [other for other in same if other == f"agent.{last}"]
        near = get_close_matches(key, keys, n=1) or same
        hint = f"; did you mean {near[0]}?" if near else "."
        self.warnings.append(
            f"{self._place(raw)}: {quoted(key)} is not a known key and is ignored{hint}"
        )

    def wrong(self, key: str, raw: Any, expected: str, *, default: Any = None) -> ConfigError:
        """The error that gives a key's value and the valid ones."""
        value = raw.text if isinstance(raw, EnvironmentText) else raw
        remedy = "Correct it"
        if isinstance(default, str | int | float) and default != "":
            remedy += f", or leave it out for the default {shown(key, default)}"
        return ConfigError(
            f"{self._place(raw)}: {quoted(key)} is {shown(key, value)}, "
            f"but must be {expected}. {remedy}."
        )

    def _place(self, raw: Any) -> str:
        if isinstance(raw, EnvironmentText):
            return f"environment variable {raw.variable}"
        if isinstance(raw, dict) and raw:
            # A table that only variables created is theirs; otherwise it is the file's.
            return next(iter(sorted(map(self._place, raw.values()), key=str(self._file).__ne__)))
        return str(self._file)


def _table_kind(hint: Any) -> tuple[type[Settings] | None, Any]:
    """The struct of a field that is a table, and whether it holds several: by name (Mapping) or in
    a list (tuple)."""
    base = base_of(hint)
    each = get_origin(base)
    if each is Mapping:
        base = get_args(base)[1]
    elif each is tuple:
        base = get_args(base)[0]
    if isinstance(base, type) and issubclass(base, Settings):
        return base, each
    return None, None


def _leads_to_a_key(parts: list[str]) -> bool:
    """Whether a variable's name ends at a key, known or not, of a known table."""
    *tables, key = parts
    kind: type[Settings] | None = config_file()
    each: Any = None
    for table in tables:
        kind, each = (kind, None) if each is Mapping else _table_kind(_types(kind).get(table))
        if kind is None:
            return False
    types = _types(kind)
    if each is not None or not key:
        return False
    return _table_kind(types[key])[0] is None if key in types else bool(tables)


def _types(kind: type[Settings] | None) -> dict[str, Any]:
    return {} if kind is None else {name: field.type for name, field in _fields(kind).items()}


@cache
def _fields(kind: type[Settings]) -> Mapping[str, msgspec.structs.FieldInfo]:
    """Cached: evaluating the annotations takes most of a load."""
    return {field.name: field for field in msgspec.structs.fields(kind)}


def _every_key(kind: type[Settings] | None = None, path: str = "") -> list[str]:
    """The dotted keys whose names are known in advance."""
    keys = []
    for field in _fields(kind or config_file()).values():
        below, each = _table_kind(field.type)
        if below is None:
            keys.append(path + field.name)
        elif each is None:
            keys += _every_key(below, f"{path}{field.name}.")
    return keys
