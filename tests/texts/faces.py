"""The help of operations and commands, and the labels of their results: texts that the code has in
docstrings and annotations, or makes of the names of fields."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from typing import Any

import msgspec
import typer

from nanobot.config.plugin_tables import config_file, plugin_of
from nanobot.config.settings import ConfigFile
from nanobot.config.settings.base import Settings
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.operation import Operation
from nanobot.operations.rendering import as_text, fields_shown, heading, label_of
from nanobot.operations.run_states import as_people_see
from nanobot.plugins.claims.deeds import Deed
from nanobot.plugins.command_line.commands import app
from nanobot.plugins.command_line.top import AT_THE_END, FIRST
from nanobot.plugins.common.keys.declared_keys import declarations
from nanobot.seam.entry_points import BUILT_IN
from nanobot.seam.plugin import Plugin, resolved
from nanobot.session.states import RunState
from nanobot.text import WORDS
from tests.texts import prompt_parts
from tests.texts.findings import abouts, levels

_MADE = (
    *(
        "{0:text} (default: {1})",
        "Usage:",
        "Commands",
        "Options",
        "Arguments",
        "More",
        "required",
        "{0} h",
    ),
    *("Show this message and exit", "Number"),
)
"""Words of the library that draws the help, and how the help of an argument continues."""
_MADE_OF = re.compile(r" \(default: [^()]*\)$")


def operations() -> list[Operation]:
    """All operations, of built-in plugins too."""
    listed = list(OPERATIONS)
    for plugin in _plugins():
        if plugin.operations is not None:
            listed += resolved(plugin.operations)()
    return list({each.name: each for each in listed}.values())


def faces() -> list[tuple[str, str]]:
    """Each text with the paths of the modules that say it."""
    rows: list[tuple[str, str]] = []
    for operation in operations():
        path = _path(operation.handler.__module__)
        texts = [operation.help, operation.empty, operation.confirm]
        texts += [parameter.description for parameter in operation.parameters]
        if operation.text is as_text:
            texts += _labels(operation.returns)
        rows += [(_template(text), path) for text in texts]
    of_operations, owners = {row for row, _ in rows}, _said_by_plugins()
    for text in _of_commands(typer.main.get_command(app)):
        for paragraph in text.split("\n\n"):
            row = _MADE_OF.sub("", _template(paragraph))
            known = {row, f"{row[:1].lower()}{row[1:]}", row.partition(": ")[0]}
            if not known & of_operations:
                rows.append((row, owners.get(row, "nanobot/plugins/command_line/commands.py")))
    rows += [(_template(text), path) for text, path in _of_settings()]
    rows += [(as_people_see(state), "nanobot/operations/run_states.py") for state in RunState]
    rows += [
        (_template(text), "nanobot/plugins/command_line/top.py")
        for text in (*FIRST.values(), *AT_THE_END)
    ]
    rows += [(row, "nanobot/plugins/command_line/generated.py") for row in _MADE]
    rows += [*levels(), *abouts(), *prompt_parts.rows()]
    rows += [(deed.value, "nanobot/plugins/claims/deeds.py") for deed in Deed]
    return [(row, path) for row, path in rows if row]


def _plugins() -> list[Plugin]:
    return [import_module(f"nanobot.plugins.{name}").PLUGIN for name in BUILT_IN]


def _said_by_plugins() -> dict[str, str]:
    """The path by row, for the help of plugins' groups, commands and options."""
    rows: dict[str, str] = {}
    for operation in operations():
        path = _path(operation.handler.__module__)
        if path.startswith("nanobot/plugins/"):
            paragraphs = (inspect.getdoc(operation.handler) or "").split("\n\n")
            rows |= {_template(text): path for text in paragraphs}
    for plugin in _plugins():
        path = f"nanobot/plugins/{plugin.name}/__init__.py"
        texts = list(plugin.groups.values())
        for command in resolved(plugin.commands)() if plugin.commands else ():
            texts += (inspect.getdoc(command.run) or "").split("\n\n")
            for hint in typing.get_type_hints(command.run, include_extras=True).values():
                for note in getattr(hint, "__metadata__", ()):
                    texts.append(getattr(note, "about", "") or getattr(note, "description", ""))
        rows |= {_MADE_OF.sub("", _template(text)): path for text in texts if text}
    return rows


def _of_settings() -> Iterator[tuple[str, str]]:
    """The sentences of all keys of the configuration, with their modules."""
    left: list[type[Settings]] = [config_file()]
    seen = set[type]()
    kinds = [kind for plugin in _plugins() for kind in plugin.shares]
    shared = {(kind.part_of, key): kind for kind in kinds for key in kind.__struct_fields__}
    parts = {type(getattr(config_file()(), part)): part for part, _ in shared}
    while left:
        table = left.pop()
        if table in seen:
            continue
        seen.add(table)
        for name, declared in declarations(table).items():
            if (kind := shared.get((parts.get(table, ""), name))) is not None:
                yield declared.about, _path(kind.__module__)
            elif table in parts:
                yield declared.about, _path(table.__base__.__module__)
            elif table is not config_file():
                yield declared.about, _path(table.__module__)
            elif name in ConfigFile.__struct_fields__:
                yield declared.about, _path(ConfigFile.__module__)
            else:
                yield declared.about, f"nanobot/plugins/{plugin_of(name)}/__init__.py"
        for field in msgspec.structs.fields(table):
            left += [kind for kind in _classes(field.type) if issubclass(kind, Settings)]


def _classes(hint: Any) -> list[type]:
    """The classes that a type is made of."""
    inner = [kind for each in typing.get_args(hint) for kind in _classes(each)]
    return [*inner, hint] if isinstance(hint, type) else inner


def _labels(kind: Any) -> Iterator[str]:
    """The labels of a result as `as_text` shows it."""
    shown = typing.get_args(kind)[0] if typing.get_origin(kind) in (list, tuple) else kind
    if not (isinstance(shown, type) and issubclass(shown, msgspec.Struct)):
        return
    hints = typing.get_type_hints(shown, include_extras=True)
    if shown is kind:
        yield from (label_of(field) for field in shown.__struct_fields__)
    else:
        yield from (heading(name) for name in fields_shown(shown) if hints[name] is bool)
    for name in shown.__struct_fields__ if shown is kind else fields_shown(shown):
        yield from _words(hints[name])


def _words(kind: Any) -> Iterator[str]:
    """The words for a state or a kind that a value of that type can be."""
    if typing.get_origin(kind) is typing.Literal:
        yield from map(str, typing.get_args(kind))
    elif isinstance(kind, type) and issubclass(kind, Enum) and kind is not RunState:
        yield from (str(word.value) for word in kind)
    elif hasattr(kind, "__metadata__"):
        for note in kind.__metadata__:
            yield from (getattr(note, "extra", None) or {}).get(WORDS, ())
        yield from _words(kind.__origin__)
    else:
        for inner in typing.get_args(kind):
            yield from _words(inner)


def _of_commands(command: Any) -> Iterator[str]:
    yield command.help or ""
    for parameter in command.params:
        yield getattr(parameter, "help", None) or ""
    for inner in getattr(command, "commands", {}).values():
        yield from _of_commands(inner)


def _template(text: str) -> str:
    """A row for a text without values; its full stop does not count."""
    return " ".join(text.split()).removesuffix(".").replace("{", "{{").replace("}", "}}")


def _path(module: str) -> str:
    return f"{module.replace('.', '/')}.py"
