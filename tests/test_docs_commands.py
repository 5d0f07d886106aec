"""The page of commands against the commands there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from typer.main import get_command

from nanobot.errors import NanobotError
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.operation import Operation
from nanobot.plugins.command_line.commands import app

PAGES = Path(__file__).resolve().parent.parent
PAGE = (PAGES / "docs" / "commands.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^### `nanobot (.+?)`$(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def commands(group: Any, *path: str) -> dict[str, Any]:
    """Every command by its whole name."""
    known: dict[str, Any] = {}
    for name, command in group.commands.items():
        below = getattr(command, "commands", None)
        if below:
            known |= commands(command, *path, name)
        elif not command.hidden:  # another name of one that is documented
            known[" ".join((*path, name))] = command
    return known


KNOWN = commands(get_command(app))


def test_every_command_has_its_section_and_every_section_a_command() -> None:
    assert set(SECTIONS) == set(KNOWN)


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_every_command_has_an_example_whose_options_exist(name: str) -> None:
    examples = re.findall(rf"^    (?:.*\| )?nanobot {name}( .*)?$", SECTIONS[name], re.MULTILINE)
    assert examples
    options = {option for parameter in KNOWN[name].params for option in parameter.opts}
    for example in examples:
        own = re.sub(r"\"[^\"]*\"|'[^']*'", "", example.partition(" -- ")[0])
        used = re.findall(r"(?<!\S)--?[a-z][a-z-]*", own)
        assert set(used) <= options, example


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_every_command_is_shown_with_its_options(name: str) -> None:
    for parameter in KNOWN[name].params:
        option = parameter.opts[0]
        if not parameter.hidden and option.startswith("--"):
            known = option in {
                "--help",
                "--json",
                "--limit",
                "--session",
                "--yes",
            }  # the page's beginning has these
            assert known or f"`{option}`" in SECTIONS[name]


@pytest.mark.parametrize(
    "operation", [*OPERATIONS, *plugin_operations()], ids=lambda operation: operation.name
)
def test_every_type_that_a_command_prints_is_described_with_its_fields(
    operation: Operation,
) -> None:
    """The fields are public: scripts read them."""
    described = dict(re.findall(r"^- \*\*(\w+)\*\*: (.*)$", PAGE, re.MULTILINE))
    for kind in (operation.returns, *get_args(operation.returns)):
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and operation.listed:
            fields = re.findall(r"`(\w+)`", described[kind.__name__].rpartition("Fields: ")[2])
            encoded = {field.encode_name for field in msgspec.structs.fields(kind)}
            assert encoded <= {*fields}, kind.__name__


def test_every_exit_code_of_an_error_is_documented() -> None:
    codes = {NanobotError.exit_code, *(kind.exit_code for kind in NanobotError.__subclasses__())}
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert codes | {0, 130} == documented


def shell_lines(page: Path) -> list[str]:
    """The commands of nanobot in the indented blocks of a page, without comments."""
    found = re.findall(
        r"^    (?:.*[|&;] *|[A-Z_]+=\S+ +)*(?:sudo )?(?:\.venv/bin/)?nanobot (.+)$",
        page.read_text("utf-8"),
        re.MULTILINE,
    )
    return [line.partition(" #")[0].strip() for line in found]


WITH_COMMANDS = [
    page
    for page in sorted((PAGES / "docs").rglob("*.md")) + sorted(PAGES.glob("README*.md"))
    if shell_lines(page)
]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_every_command_on_every_page_exists_with_its_options(page: Path) -> None:
    for line in shell_lines(page):
        if re.match(r"[\"']|COMMAND|--", line):  # a message, a pattern, an option of nanobot itself
            continue
        if any(each.startswith(f"{line} ") for each in KNOWN):  # a group, which lists
            continue
        name = max(
            (each for each in KNOWN if f"{line} ".startswith(f"{each} ")), default="", key=len
        )
        assert name, f"{page.name}: nanobot {line}"
        own = line.partition(" -- ")[0]
        used = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", re.sub(r"\"[^\"]*\"|'[^']*'", "", own)))
        options = {option for parameter in KNOWN[name].params for option in parameter.opts}
        assert used <= options | {"--help"}, f"{page.name}: nanobot {line}"
