"""Every command with its help, examples and options as Markdown, and the types that they print."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from typer.main import get_command

from nanobot import __version__
from nanobot.messages import Role
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.command_line.commands import app
from nanobot.plugins.http_api.openapi import description
from nanobot.plugins.http_api.operation_routes import path_of
from tests.reference_configuration import escaped

_EVERYWHERE = {"--help", "--json", "--limit", "--yes"}
"""Options that the beginning of the page explains."""
_MANY = 5
"""So many options of another command in the group are not repeated."""
_IN_CHATS = {Role.GUEST: "For guests, too.", Role.MEMBER: "For members, too."}
_REFERENCE = re.compile(r'"\$ref": "#/components/schemas/([^"]+)"')


def commands_page() -> str:
    """Every command, and what `--json` prints."""
    whole = get_command(app)
    return "\n".join([*_group(whole, ()), *_groups(whole, ()), *_types()])


def _groups(group: Any, path: tuple[str, ...]) -> Iterator[str]:
    for name, command in group.commands.items():
        if getattr(command, "commands", None):
            yield from _group(command, (*path, name))
            yield from _groups(command, (*path, name))


def _group(group: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The commands right below a group; of the whole program, those without a group."""
    yield from (f"## `nanobot {' '.join(path)}`" if path else "## Single commands", "")
    yield from _paragraphs(group.help if path else "")
    seen: dict[str, str] = {}
    for name, command in group.commands.items():
        if not getattr(command, "commands", None) and not command.hidden:
            yield from _command(" ".join((*path, name)), command, seen)


def _command(name: str, command: Any, seen: dict[str, str]) -> Iterator[str]:
    """A command. `seen`: the lines about arguments of the commands before it in its group, with the
    names of these commands."""
    yield from (f"### `nanobot {name}`", "", *_paragraphs(command.help))
    examples = re.findall(r"Example: (.+)", command.epilog or "")
    yield from (*(f"    {example}" for example in examples), "")
    options = [line for each in command.params if (line := _option(each))]
    options = [line for line in options if line not in seen or line.startswith("- `-")]
    again = [line for line in options if line in seen and line.startswith("- `-")]
    if len(again) > _MANY:
        options = [line for line in options if line not in again]
        names = ", ".join(re.findall(r"`--?[a-z-]+`", " ".join(again)))
        options.append(f"- {names}: as for `nanobot {seen[again[0]]}`.")
    for line in options:
        seen.setdefault(line, name)
    yield from ([*options, ""] if options else [])
    result = _results().get(name)
    if result:
        yield from (result, "")


def _option(parameter: Any) -> str:
    """An argument or option; "" for one that is not listed."""
    if getattr(parameter, "hidden", False) or _EVERYWHERE & {*parameter.opts}:
        return ""
    text = _text(getattr(parameter, "help", "") or "")
    if text.startswith(("The session (", "The same.")):
        return ""
    if parameter.param_type_name != "option":
        return f"- `{parameter.name.upper()}`: {text}"
    names = "`, `".join(parameter.opts)
    choices = get_args(parameter.type_descriptor.annotation)
    if choices and all(isinstance(choice, str) for choice in choices) and not parameter.metavar:
        text = f"{text.removesuffix('.')}: {', '.join(choices)}."
    return f"- `{names}`: {text}"


@cache
def _described() -> Mapping[str, Any]:
    """The OpenAPI description of all operations."""
    return description([*OPERATIONS, *plugin_operations()], __version__, cookie="nanobot")


@cache
def _results() -> Mapping[str, str]:
    """What each command prints as JSON, and who else than owners may use it."""
    found: dict[str, str] = {}
    for operation in [*OPERATIONS, *plugin_operations()]:
        if not operation.listed:
            continue
        (request,) = _described()["paths"][path_of(operation)].values()
        schema = request["responses"]["200"]["content"]["application/json"]["schema"]
        many = "list of " if schema.get("type") == "array" else ""
        names = _REFERENCE.findall(json.dumps(schema))
        told = [f"JSON: {many}`{names[0].rpartition('.')[2]}`."] if names else []
        who = _IN_CHATS.get(operation.role)
        found[operation.command] = " ".join([*told, *([who] if who else [])])
    return found


def _types() -> Iterator[str]:
    """The types of those results, and the types of their fields."""
    schemas = _described()["components"]["schemas"]
    yield from ("## JSON", "", "What these commands print with `--json`, by type:", "")
    printed = {name for line in _results().values() for name in re.findall(r"`(\w+)`", line)}
    within = {name for each in printed for name in _REFERENCE.findall(json.dumps(schemas[each]))}
    for name in sorted(printed | within):
        text = _text(inspect.cleandoc(schemas[name].get("description", "")))
        schema = schemas[name].get("anyOf", [schemas[name]])[0]  # of variants, one has all fields
        for word, key in (("Fields", "properties"), ("Values", "enum")):
            if listed := ", ".join(f"`{each}`" for each in schema.get(key, ())):
                text = f"{text} {word}: {listed}.".strip()
        for field, rule in schema.get("properties", {}).items():
            if told := rule.get("description"):
                text = f"{text} `{field}`: {_text(told)}"
        if text:
            yield f"- **{name.rpartition('.')[2]}**: {text}"
    yield ""


def _paragraphs(text: str | None) -> Iterator[str]:
    if text:
        yield from (_text(inspect.cleandoc(text)), "")


def _text(text: str) -> str:
    return escaped(" ".join(text.split()))
