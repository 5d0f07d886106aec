"""Reading tables of the configuration: from a file's tree, overlaid with the environment.

What is wrong is a ConfigError that names the place, the key, what was found and what is allowed; a
key nobody knows is only a warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from math import nan
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec

from nanobot.config.settings import Top, every_key
from nanobot.config.settings.agent import DecisionSettings
from nanobot.config.settings.base import Settings
from nanobot.config.values import (
    EnvironmentText,
    allowed,
    follow,
    from_text,
    ids,
    quoted,
    shown,
    spelled,
)
from nanobot.errors import ConfigError
from nanobot.messages import TERMINAL

T = TypeVar("T", bound=Settings)
V = TypeVar("V")
_PREFIX = "NANOBOT_"
_NOT_KEYS = frozenset({"NANOBOT_HOME", "NANOBOT_CRASH_AT"})
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Reader:
    """One load. What is wrong is raised, or noted in `problems` and left out.

    `tables` are those there are, `depth` says how many parts the name of a variable has below each
    of them where that is not two."""

    tables: ClassVar[Collection[str]] = ()
    depth: ClassVar[Mapping[str, int]] = {}

    def __init__(
        self,
        home: Path,
        file: Path,
        environ: Mapping[str, str],
        problems: list[str] | None = None,
    ) -> None:
        self._home = home
        self.file = self._file = file
        self._environ = environ
        self._problems = problems
        self._warnings: list[str] = []

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except ConfigError as error:
            if self._problems is None:
                raise
            self._problems.append(str(error))

    def _or(self, otherwise: V, made: Callable[[], V]) -> V:
        """What was made; `otherwise` if it could not be, and that is noted."""
        with self._noting():
            return made()
        return otherwise

    def _plain(self, kind: type[T], tables: Mapping[str, Any], name: str) -> T:
        return self._or(kind(), lambda: self._table(kind, tables[name], name))

    def overlay(self, tree: dict[str, Any]) -> None:
        """Put what the environment says over what the file says. An empty variable is not set."""
        for variable in sorted(self._environ):
            text = self._environ[variable]
            if variable.startswith(_PREFIX) and variable not in _NOT_KEYS and text:
                parts = variable.removeprefix(_PREFIX).lower().split("__")
                deep = parts[:2] == ["agent", "decision"]
                if len(parts) == (
                    3 if deep else self.depth.get(parts[0], 2 if len(parts) > 1 else 0)
                ):
                    with self._noting():
                        self._put(tree, parts, EnvironmentText(text, variable))
                elif len(parts) > 1 or get_close_matches(parts[0], Top.__struct_fields__):
                    self._unknown(".".join(parts), every_key(), EnvironmentText("", variable))

    def _put(self, tree: dict[str, Any], parts: list[str], text: EnvironmentText) -> None:
        node = tree
        for depth, part in enumerate(parts[:-1]):
            child = node.setdefault(spelled(node, part), {})
            if not isinstance(child, dict):
                raise self._wrong(".".join(parts[: depth + 1]), child, "a table")
            node = child
        node[spelled(node, parts[-1])] = text

    def _table(self, kind: type[T], found: Any, path: str) -> T:
        """A table whose every key is a field of `kind`."""
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        prefix = f"{path}." if path else ""
        values = {}
        for key, value in self._items(found, path):
            if key in fields:
                with self._noting():
                    values[key] = self._value(fields[key], value, prefix + key)
            else:
                known = [prefix + name for name in fields]
                self._unknown(prefix + key, known if path else [*known, *self.tables], value)
        return kind(**values)

    def _items(self, found: Any, path: str) -> list[tuple[str, Any]]:
        if not isinstance(found, dict):
            raise self._wrong(path, found, f"a table: write [{path}] and its keys below it")
        return list(found.items())

    def _each(self, found: Any, path: str, made: Callable[[Any, str], V]) -> dict[str, V]:
        """The tables below [path], by name."""
        tables: dict[str, V] = {}
        with self._noting():
            for name, table in self._items(found, path):
                with self._noting():
                    tables[name] = made(table, self._named(name, path))
        return tables

    def _named(self, name: str, path: str) -> str:
        # The terminal's user is the owner: no platform may pose as its channel.
        reserved = path == "channels" and name == TERMINAL
        if reserved or not _NAME.fullmatch(name):
            raise ConfigError(
                f"{self._file}: [{path}.{quoted(name)}] cannot be a name here. Use letters, "
                f"digits, - and _, at most 64; no channel may be called '{TERMINAL}'."
            )
        return name

    def _value(self, field: msgspec.structs.FieldInfo, found: Any, key: str) -> Any:
        if field.type is DecisionSettings:
            return self._table(DecisionSettings, found, key)
        value, loose = self._resolved(found, key)
        if loose:
            value = from_text(field.type, value)
        if isinstance(value, list):
            value = [self._resolved(item, key)[0] for item in value]
        elif isinstance(value, dict):
            value = {name: self._resolved(v, f"{key}.{name}")[0] for name, v in value.items()}
        if key.endswith((".owners", ".members", ".guests")):
            value = ids(value)
        try:
            converted = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            converted = nan
        if converted != converted:  # not a number: no bound refuses it
            raise self._wrong(key, found, allowed(field.type), default=field.default)
        return converted

    def _resolved(self, found: Any, key: str) -> tuple[Any, bool]:
        """The value itself, and whether it is text without a type of its own."""
        text = found.text if isinstance(found, EnvironmentText) else found
        if not isinstance(text, str):
            return text, False
        value = follow(text, f"{self._place(found)}: {key}", self._home, self._environ)
        if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
            raise self._wrong(key, found, "text in UTF-8 without zero bytes")
        return value, isinstance(found, EnvironmentText) or value is not text

    def _adapter(self, found: Any, key: str) -> Any:
        if isinstance(found, dict):
            return {name: self._adapter(value, f"{key}.{name}") for name, value in found.items()}
        if isinstance(found, list):
            return [self._adapter(value, key) for value in found]
        return self._resolved(found, key)[0]

    def _unknown(self, key: str, known: list[str], found: Any) -> None:
        last = key.rpartition(".")[2]
        same = [other for other in every_key() if other.rpartition(".")[2] == last]
        # Several tables have a key of that name: most likely the agent's is meant.
        same = same if len(same) == 1 else [other for other in same if other == f"agent.{last}"]
        near = get_close_matches(key, known, n=1) or same
        hint = f"; did you mean {near[0]}?" if near else "."
        self._warnings.append(
            f"{self._place(found)}: {quoted(key)} is not a known key and is ignored{hint}"
        )

    def _wrong(self, key: str, found: Any, wanted: str, *, default: Any = None) -> ConfigError:
        value = found.text if isinstance(found, EnvironmentText) else found
        remedy = "Correct it"
        if isinstance(default, str | int | float) and default != "":
            remedy += f", or leave it out for the default {shown(key, default)}"
        return ConfigError(
            f"{self._place(found)}: {quoted(key)} is {shown(key, value)}, "
            f"but must be {wanted}. {remedy}."
        )

    def _place(self, found: Any) -> str:
        if isinstance(found, EnvironmentText):
            return f"environment variable {found.variable}"
        if isinstance(found, dict) and found:
            # A table that only variables made is theirs; else it is the file's.
            return next(iter(sorted(map(self._place, found.values()), key=str(self._file).__ne__)))
        return str(self._file)
