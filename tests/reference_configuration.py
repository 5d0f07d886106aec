"""The keys of config.toml as Markdown, made from their declarations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from nanobot.config.plugin_tables import config_file
from nanobot.config.reader import OPEN
from nanobot.config.settings.base import Settings
from nanobot.config.values import base_of
from nanobot.plugins.common.keys.config_file import as_toml
from nanobot.plugins.common.keys.declared_keys import KeyDeclaration, declarations

DOCS = Path(__file__).resolve().parent.parent / "docs"

# Pages about tables, where the page is not called as the table is.
PAGES = {
    "agent.decision": "stages/triage.md",
    "channels": "channels.md",
    "hooks": "webhooks.md",
    "lifecycle": "stages/lifecycle.md",
    "plugins": "extending.md#a-plugin",
    "reader": "policy.md#a-reader-without-tools",
    "triggers": "single-parts.md#a-trigger",
}
_OBVIOUS = {"text", "secret", "list", "table", "boolean"}
"""Kinds that the default shows."""

_ENDLESS = 1e9
"""Nobody needs to know of a limit like this."""


def configuration_page() -> str:
    """Every table and key there is."""
    lines = ["## Top level", "", *_rows(config_file())]
    for table, paths in tables().items():
        about, rows = _about(paths, table), _rows(table)
        if about or rows:
            lines += [f"## {heading(paths[0])}", "", *about, *rows]
    return "\n".join(lines)


def tables() -> Mapping[type[Settings], list[str]]:
    """Every table below the top level in the order of the file, with the paths where it can be."""
    found: dict[type[Settings], list[str]] = {}

    def collect(path: str, table: type[Settings]) -> None:
        for field in msgspec.structs.fields(table):
            kind, ending = _table(field.type) or (None, "")
            if kind is not None:
                ending = ".ID" if ending == ".NAME" and ".NAME" in path else ending
                below = f"{path}.{field.name}{ending}".removeprefix(".")
                found.setdefault(kind, []).append(below)
                collect(below, kind)

    collect("", config_file())
    return found


def _table(hint: Any) -> tuple[type[Settings], str] | None:
    """The table that a key holds, and how its path ends; None for other keys."""
    base = base_of(hint)
    if _is_table(base):
        return base, ""
    arguments = get_args(base)
    if get_origin(base) is Mapping and _is_table(base_of(arguments[1])):
        return base_of(arguments[1]), ".NAME"
    if get_origin(base) is tuple and _is_table(base_of(arguments[0])):
        return base_of(arguments[0]), "[]"
    return None


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Settings)


def _rows(table: type[Settings]) -> list[str]:
    """A row for each key that is not a table itself."""
    below = {field.name for field in msgspec.structs.fields(table) if _table(field.type)}
    rows = [
        _row(key, declared)
        for key, declared in declarations(table).items()
        if key not in below and key != OPEN
    ]
    head = ["| Key and default | Meaning |", "|---|---|"]
    return [*head, *rows, ""] if rows else []


def heading(path: str) -> str:
    """How the file has it: `[agent]`, or `[[policy.rules]]` for one of a list."""
    return f"[[{path[:-2]}]]" if path.endswith("[]") else f"[{path}]"


def _about(paths: Sequence[str], table: type[Settings]) -> list[str]:
    """The first paragraph of its docstring, its other paths, and the page with more."""
    first = inspect.cleandoc(table.__doc__ or "").partition("\n\n")[0]
    sentence = re.sub(r"^`\[[^`]*\]`[:.]? *", "", " ".join(first.split()))
    if len(paths) > 1:
        others = ", ".join(f"`{heading(path)}`" for path in paths[1:])
        sentence += f" The same keys are in {others}."
    name = paths[0].removesuffix(".NAME")
    page = PAGES.get(name) or f"{name}.md"
    if (DOCS / page.partition("#")[0]).exists():
        sentence += f" See [{page.partition('#')[0]}]({page})." if sentence else ""
    return [f"{sentence[:1].upper()}{sentence[1:]}", ""] if sentence else []


def _row(key: str, declared: KeyDeclaration) -> str:
    default = "" if declared.default is None else f" = {_written(declared.default)}"
    mark = " \\*" if declared.applies == "now" else ""
    limits = "" if declared.kind in _OBVIOUS and not declared.choices else _value(declared)
    meaning = f"{declared.about} {limits and f'({limits})'}".strip()
    return f"| `{key}{default}`{mark} | {escaped(meaning).replace('|', chr(92) + '|')} |"


def escaped(text: str) -> str:
    """A text with the marks of Markdown escaped, except in code."""
    parts = text.split("`")
    return "`".join(
        re.sub(r"([*<])", r"\\\1", part) if number % 2 == 0 else part
        for number, part in enumerate(parts)
    )


def _written(default: Any) -> str:
    return as_toml(list(default) if isinstance(default, tuple) else default)


def _value(declared: KeyDeclaration) -> str:
    """What a key takes, in a few words."""
    if declared.choices:
        shown = ", ".join(f"`{as_toml(choice)}`" for choice in declared.choices)
        return f"list of {shown}" if declared.kind == "list" else shown
    least, most = (f"{limit or 0:,.10g}" for limit in (declared.least, declared.most))
    if declared.most is None or declared.most >= _ENDLESS:
        limits = f"above {least}" if declared.above else f"{least} or more"
    else:
        limits = f"above {least}, to {most}" if declared.above else f"{least} to {most}"
    return f"{limits} {declared.unit}".strip()
