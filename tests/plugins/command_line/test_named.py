"""Only the command that is named is built, and it is the same as among all others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.main import get_command

from nanobot.plugins.command_line.commands import app
from nanobot.plugins.command_line.named import named


def paths_of(group: Any, *before: str) -> Iterator[tuple[str, ...]]:
    """The words of every command, and of every group."""
    for name, command in group.commands.items():
        yield (*before, name)
        if hasattr(command, "commands"):
            yield from paths_of(command, *before, name)


def help_of(command: Any, words: Sequence[str]) -> str:
    context = typer.Context(command, info_name="nanobot")
    for word in words:
        command = command.commands[word]
        context = typer.Context(command, parent=context, info_name=word)
    return str(command.get_help(context))


def test_each_command_and_group_has_the_help_that_it_has_among_all() -> None:
    whole = get_command(app)
    paths = list(paths_of(whole))
    assert len(paths) > 140
    assert ("web", "tokens", "add") in paths
    for words in paths:
        part = get_command(named(app, [*words, "--help"]))
        assert help_of(part, words) == help_of(whole, words)


def test_the_whole_has_the_same_help_without_what_only_a_parser_needs() -> None:
    for option in ("--help", "-h"):
        part: Any = get_command(named(app, [option]))
        assert help_of(part, ()) == help_of(get_command(app), ())
        assert {len(command.params) for command in part.commands.values()} == {0}


def test_a_command_line_makes_the_functions_of_the_operations_that_it_names() -> None:
    code = (
        "import atexit, gc\n"
        "from nanobot.cli import main\n"
        "from nanobot.plugins.command_line import generated\n"
        "made, looks, make = [], [], generated._command\n"
        "generated._command = lambda operation: made.append(operation.name) or make(operation)\n"
        "gc.callbacks.append(lambda *_: gc.get_threshold()[0] > 700 and looks.append(1))\n"
        "atexit.register(lambda: print(made, len(looks)))\n"
        "main()\n"
    )
    for words, made in (("--help", []), ("cron --help", []), ("cron list --help", ["cron list"])):
        command = [sys.executable, "-c", code, *words.split()]
        said = subprocess.check_output(command, text=True)
        assert said.splitlines()[-1] == f"{made} 0"


def test_other_commands_are_not_built() -> None:
    part: Any = get_command(named(app, ["web", "tokens", "list", "--json"]))
    assert list(paths_of(part)) == [("web",), ("web", "tokens"), ("web", "tokens", "list")]


def test_all_are_built_for_words_that_are_no_command() -> None:
    for words in ([], ["statsu"], ["what", "status", "is", "this"]):
        assert named(app, words) is app
    group: Any = get_command(named(app, ["sessions", "lsit"]))
    assert {"list", "delete"} <= set(group.commands["sessions"].commands)
