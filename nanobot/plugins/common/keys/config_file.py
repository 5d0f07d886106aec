"""Writes keys into the configuration file; comments and order are kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit

from nanobot.config.loader import Config, home_of, survey
from nanobot.config.values import content_of, parts_of
from nanobot.errors import ConfigError, StoreUnwritable, UsageError

_HEAD = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")


def as_toml(value: Any) -> str:
    """A value as in the file, on one line."""
    return str(tomlkit.item(value).as_string())


def put(
    environ: Mapping[str, str],
    values: Mapping[str, Any],
    check: Callable[[Config], None] | None = None,
) -> Path:
    """Write keys into config.toml; comments and order are kept. None removes a key, so that its
    default applies. Returns the file; raises as `change` does, and UsageError for a key to remove
    that is not there."""

    def with_them(text: str) -> str:
        for key, value in values.items():
            text = without(text, key) if value is None else edited(text, key, value)
        return text

    return change(environ, with_them, check)


def change(
    environ: Mapping[str, str],
    edit: Callable[[str], str],
    check: Callable[[Config], None] | None = None,
) -> Path:
    """Write the result of `edit` to config.toml. Returns the file.

    Raises UsageError for an unknown key, ConfigError if the file would get a new mistake, and what
    `check` raises for the resulting configuration: then nothing is written.
    """
    file = home_of(environ) / "config.toml"
    before = content_of(file) if file.exists() else b""
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
        with suppress(OSError):  # on a read-only disk, not even a missing file can be removed
            unfinished.unlink(missing_ok=True)
        raise StoreUnwritable(f"{file} cannot be written ({error.strerror})") from None


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
