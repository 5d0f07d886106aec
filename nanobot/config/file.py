"""The configuration as a file: reading one key, writing one with the comments kept, its schema."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import tomlkit

from nanobot.config.loader import Config, home_of, load, survey
from nanobot.config.plugin_tables import config_file
from nanobot.config.reader import OPEN
from nanobot.config.settings.base import Settings
from nanobot.config.values import (
    Source,
    base_of,
    from_text,
    masked,
    parts_of,
    variable_of,
)
from nanobot.errors import ConfigError, StoreUnwritable, UsageError

_SECRET = {"type": "string", "pattern": r"^(\$\{[A-Za-z_][A-Za-z0-9_]*\}|file:.+)$"}
_OF_THE_KEY = ("default", "description", "unit", "applies")
_HEAD = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_NOT_WRITTEN = frozenset({"home", "file", "warnings", "tables"})


def values(environ: Mapping[str, str]) -> dict[str, Any]:
    """Every current key, including defaults; secrets as ***. Raises ConfigError."""
    return dict(shown(load(environ, unset={})))


def shown(config: Config) -> Iterator[tuple[str, Any]]:
    """Every key of a configuration with its value; secrets as ***."""
    for key in (*config.__struct_fields__, *config.tables):
        if key not in _NOT_WRITTEN:
            yield from _shown(key, config.value(key))


def _shown(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, msgspec.Struct):
        for key in value.__struct_fields__:
            # Settings of an adapter are written in its table, next to the keys of all adapters.
            below = path if key == OPEN else f"{path}.{key}"
            own = value.shown_value(key) if isinstance(value, Settings) else getattr(value, key)
            yield from _shown(below, own)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _shown(f"{path}.{name}", item)
    elif isinstance(value, tuple | list):
        yield path, [_plain(item) for item in value]
    elif value is not None:
        yield path, str(value) if isinstance(value, Path) else masked(path, value)


def _plain(item: Any) -> Any:
    """A list item as TOML has it: unset keys are left out."""
    if not isinstance(item, msgspec.Struct):
        return item
    fields = msgspec.to_builtins(item)
    return {key: value for key, value in fields.items() if value is not None}


def chosen(environ: Mapping[str, str], key: str) -> dict[str, Any]:
    """The values of a key or of a table ("": all). Raises UsageError for an unknown one."""
    every = values(environ)
    below = f"{key}."
    picked = {name: v for name, v in every.items() if name == key or name.startswith(below)}
    if not key:
        return every
    if not picked:
        near = get_close_matches(key, every, n=1)
        raise UsageError(f"there is no key {key}" + (f"; did you mean {near[0]}?" if near else ""))
    return picked


def as_toml(value: Any) -> str:
    """A value as in the file, on one line."""
    return str(tomlkit.item(value).as_string())


def as_json(value: Any) -> str:
    """A value for programs."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def put(environ: Mapping[str, str], changes: Mapping[str, str | list[str] | bool]) -> Path:
    """Write keys into config.toml; comments and order are kept. Returns the file.

    Raises UsageError for an unknown key, and ConfigError if the file would get a new mistake: then
    nothing is written.
    """

    def with_them(text: str) -> str:
        for key, value in changes.items():
            typed = typed_value(key, value) if isinstance(value, str) else value
            text = edited(text, key, typed)
        return text

    return change(environ, with_them)


def change(
    environ: Mapping[str, str],
    edit: Callable[[str], str],
    check: Callable[[Config], None] | None = None,
) -> Path:
    """Write the result of `edit` to config.toml. Returns the file; raises as `put` does, or as
    `check` does for the resulting configuration."""
    file = home_of(environ) / "config.toml"
    before = file.read_bytes() if file.exists() else b""
    after = edit(before.decode("utf-8-sig", "replace")).encode()
    was, now = survey(environ, before), survey(environ, after)
    wrong = [problem for problem in now[0] if problem not in was[0]]
    if wrong:
        raise ConfigError("\n".join(wrong))
    if now[1] is not None and was[1] is not None:
        new = [warning for warning in now[1].warnings if warning not in was[1].warnings]
        unknown = [warning for warning in new if "is not a known key" in warning]
        if unknown:
            raise UsageError(unknown[0])
    if check is not None and now[1] is not None:
        check(now[1])
    write(file, after)
    return file


def edited(text: str, key: str, value: Any) -> str:
    """The text of a TOML file with one key set. Raises ConfigError if that is not possible."""
    *path, last = parts_of(key)
    try:
        document = tomlkit.parse(text)
        node: Any = document
        for part in path:
            inline = isinstance(node, tomlkit.items.InlineTable)
            node = node.setdefault(part, tomlkit.inline_table() if inline else tomlkit.table())
        exists = last in node
        node[last] = value
        whole = document.as_string()
        if exists:
            return whole
        added = _added(text, ".".join(path), f"{last} = {as_toml(value)}")
        return added if tree(added) == tree(whole) else whole
    except (tomlkit.exceptions.TOMLKitError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"config.toml: {key} cannot be set: {error}") from None


def tree(text: str) -> Any:
    """The parsed text of a TOML file; None if it is invalid."""
    try:
        return tomlkit.parse(text).unwrap()
    except tomlkit.exceptions.TOMLKitError:
        return None


def _added(text: str, table: str, line: str) -> str:
    """The text with a line after the last key of a table, above the comment of the next table:
    tomlkit would put it below."""
    lines = text.splitlines()
    heads = [n for n, item in enumerate(lines) if _HEAD.match(item)]
    if table:
        own = [n for n in heads if (m := _HEAD.match(lines[n])) and m[1].strip() == table]
        if not own:
            gap = [""] if lines and lines[-1].strip() else []
            return "\n".join([*lines, *gap, f"[{table}]", line]) + "\n"
        start = own[0] + 1
        end = next((n for n in heads if n >= start), len(lines))
    else:
        start, end = 0, heads[0] if heads else len(lines)
    keys = [n for n in range(start, end) if lines[n].strip() and lines[n].lstrip()[0] != "#"]
    blank = [n + 1 for n in range(start, end) if not table and not lines[n].strip()]
    where = keys[-1] + 1 if keys else (blank or [start])[-1]
    gap = [] if keys or table or not heads else [""]
    return "\n".join([*lines[:where], line, *gap, *lines[where:]]) + "\n"


def typed_value(key: str, text: str) -> Any:
    """Typed text, converted to the key's type; for an adapter's keys, parsed as TOML."""
    hint = hint_of(key)
    base = base_of(hint)
    if base is None:
        return _toml(text)
    if get_origin(base) is tuple:
        parsed = _toml(text) if text.lstrip().startswith("[") else None
        if isinstance(parsed, list):
            return [str(item) for item in parsed]
        return [item.strip() for item in text.split(",") if item.strip()]
    if base is str or get_args(base):
        parsed = _toml(text)
        return parsed if isinstance(parsed, str) else text
    return from_text(hint, text)


def _toml(text: str) -> Any:
    try:
        return tomlkit.parse(f"x = {text}").unwrap()["x"]
    except tomlkit.exceptions.TOMLKitError:
        return text


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


def write(file: Path, content: bytes) -> None:
    """Replace a file atomically, readable only by its owner. Raises StoreUnwritable."""
    target = file.resolve()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(number, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise StoreUnwritable(f"{file} cannot be written ({error.strerror})") from None


def schema() -> dict[str, Any]:
    """JSON Schema of config.toml, for editors. Any value may refer to a variable or a file."""
    rules = msgspec.json.schema(config_file())
    definitions = rules["$defs"]
    for definition in definitions.values():
        open_to_more = definition["properties"].pop(OPEN, None) is not None
        if open_to_more:
            definition.pop("required", None)
        definition["additionalProperties"] = open_to_more
        definition["properties"] = {
            key: _or_reference(rule) for key, rule in definition["properties"].items()
        }
    for table, keys in (
        (definitions["ChannelSettings"], ("owners", "members", "guests")),
        (definitions["ChatSettings"], ("members",)),
    ):
        for key in keys:
            table["properties"][key]["items"] = {"type": ["string", "integer"]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **rules}


def _or_reference(rule: dict[str, Any]) -> dict[str, Any]:
    told = {name: rule.pop(name) for name in _OF_THE_KEY if name in rule}
    if rule.get("type") in ("number", "integer", "boolean") or "enum" in rule:
        return {"anyOf": [rule, _SECRET]} | told
    return rule | told


def sourced(environ: Mapping[str, str]) -> Iterator[tuple[str, Any, Source]]:
    """Every key for the next start with its source: default, file or environment; secrets as ***.
    Raises ConfigError."""
    file = home_of(environ) / "config.toml"
    written = set(_keys(tree(file.read_text("utf-8-sig", "replace")))) if file.exists() else set()
    for key, value in values(environ).items():
        if environ.get(variable_of(key)):
            yield key, value, "environment"
        else:
            yield key, value, "file" if key in written else "default"


def _keys(table: Any, path: str = "") -> Iterator[str]:
    if not isinstance(table, Mapping):
        yield path
        return
    for name, value in table.items():
        yield from _keys(value, f"{path}.{name}" if path else str(name))


def without(text: str, key: str) -> str:
    """The text of a TOML file without one key. Raises UsageError if the key is missing."""
    *path, last = parts_of(key)
    try:
        document = tomlkit.parse(text)
        node: Any = document
        for part in path:
            node = node[part]
        del node[last]
    except (tomlkit.exceptions.TOMLKitError, KeyError, TypeError):
        raise UsageError(f"{key} is not set in config.toml") from None
    return document.as_string()
