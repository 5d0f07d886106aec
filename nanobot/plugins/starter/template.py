"""A starter package for a plugin: its files, by path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nanobot.errors import UsageError
from nanobot.text import pattern

_NAME = pattern(r"[a-z][a-z0-9_]{0,31}")

_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "nanobot-{dashed}"
version = "0.1.0"
description = "A plugin of nanobot"
requires-python = ">=3.11"

[project.entry-points."nanobot.plugins"]
{name} = "nanobot_{name}:PLUGIN"

[tool.hatch.build.targets.wheel]
packages = ["nanobot_{name}"]

[tool.pytest]
asyncio_mode = "auto"
"""
_PLUGIN = '''\
"""A plugin of nanobot; docs/plugins.md of nanobot describes each field."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.config.settings.base import Settings, about
from nanobot.errors import ToolError
from nanobot.operations.home import Finding
from nanobot.seam.plugin import Plugin
from nanobot.seam.tables import PluginTables
from nanobot.tools.base import AnyTool, CallContext, Effect, Tool


class {title}Settings(Settings, frozen=True, kw_only=True):
    """The table `[{name}]` of config.toml."""

    greeting: Annotated[str, about("The greeting.")] = "Hello"


class Greet(msgspec.Struct, frozen=True):
    """What the model fills in."""

    name: Annotated[str, Meta(max_length=100, description="Who is greeted")]


def tools(settings: {title}Settings, tables: PluginTables) -> list[AnyTool]:
    async def greet(args: Greet, context: CallContext) -> str:
        if not args.name.strip():
            raise ToolError("name: who is to be greeted?")
        await tables.change("INSERT INTO {name} (who) VALUES (:who)", who=args.name)
        count = "SELECT count(*) AS times FROM {name} WHERE who = :who"
        (row,) = await tables.rows(count, who=args.name)
        return f"{{settings.greeting}}, {{args.name}}! You were greeted {{row['times']}} times."

    return [
        Tool(
            name="{name}_greet",
            description="Greets a person, and counts how often.",
            args=Greet,
            run=greet,
            effect=Effect.WORLD,
            risk="low",
            taints=False,
        )
    ]


def checks(settings: {title}Settings) -> Iterator[Finding]:
    yield Finding(about="{name}", level="ok", text=f"says {{settings.greeting}}")


PLUGIN = Plugin(
    name="{name}",
    summary="Greets people.",
    settings={title}Settings,
    migrations=("CREATE TABLE {name} (who TEXT)",),
    tools=tools,
    checks=checks,
)
'''
_TESTS = '''\
"""The plugin keeps its promises."""

import pytest

from nanobot.testing.plugins import tried
from nanobot.testing.tools import CHECKS, Check, ToolCase
from nanobot_{name} import PLUGIN, {title}Settings


async def test_it_is_whole() -> None:
    async with tried(PLUGIN, {title}Settings(greeting="Hi")) as plugin:
        (finding,) = await plugin.findings()
        assert finding.text == "says Hi"


@pytest.mark.parametrize("check", CHECKS)
async def test_its_tool_keeps_what_a_tool_promises(check: Check) -> None:
    async with tried(PLUGIN) as plugin:
        (tool,) = plugin.tools()
        await check(ToolCase(tool=tool, good={{"name": "Ann"}}, failing={{"name": " "}}))
'''
_README = """\
# nanobot-{dashed}

A plugin of nanobot. Install it where nanobot is installed, and start nanobot
again:

    pip install .
    nanobot plugins

Its tests need pytest and pytest-asyncio: `pytest`.
"""
_FILES: Mapping[str, str] = {
    "pyproject.toml": _PROJECT,
    "README.md": _README,
    "nanobot_{name}/__init__.py": _PLUGIN,
    "tests/test_{name}.py": _TESTS,
}


def write_plugin(name: str, parent: Path) -> Path:
    """Write a package for a plugin of that name to a new folder; returns the folder. Raises
    UsageError for an invalid name, and if the folder exists.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"a plugin cannot be named {name[:60]!r}: use small letters, digits and _, 32 at most"
        )
    folder = parent / f"nanobot-{name.replace('_', '-')}"
    if folder.exists():
        raise UsageError(f"{folder} is there already: choose another name, or remove it")
    words = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "title": "".join(word.capitalize() for word in name.split("_")),
    }
    for path, text in _FILES.items():
        file = folder / path.format(**words)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(**words), encoding="utf-8")
    return folder
