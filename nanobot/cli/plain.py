"""The command line without the plugin `command_line`: operations, written as in a chat."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from nanobot.cli.exit_codes import errors
from nanobot.cli.output import say, warn, without_colours
from nanobot.errors import UsageError
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.operation import Operation
from nanobot.seam.entry_points import some_of
from nanobot.seam.installed import Interface, installed, provided

WHOLE: Interface[Callable[[Mapping[str, str], Sequence[str]], None]] = Interface("command_line")
"""The command line with options, help and tables."""
_OPTIONS = ("--json", "--yes")


def run(environ: Mapping[str, str], words: Sequence[str], undecoded: str | None) -> None:
    """Perform the command of these words, by the plugin `command_line` if it is on. One that is not
    UTF-8 (`undecoded`) is refused. Raises SystemExit."""
    if undecoded is not None:
        with errors():
            raise UsageError(f"{undecoded!r} is not UTF-8")
    if environ.get("NO_COLOR"):
        without_colours()
    (provided(WHOLE) or perform)(environ, words)


def perform(environ: Mapping[str, str], words: Sequence[str]) -> None:
    """Perform the operation of these words; without one, list them. Raises SystemExit."""
    given = [word for word in words if word not in _OPTIONS]
    with errors():
        if not given:
            warn(*_listed())
            raise SystemExit(UsageError.exit_code)
        if {"--help", "-h"} & {*given}:
            say(*_listed())
            return
        if given[0] == "gateway":
            raise UsageError("write: nanobot gateway [--role ROLE]...")
        _perform(environ, given, json="--json" in words, sure="--yes" in words)


def _perform(environ: Mapping[str, str], words: Sequence[str], *, json: bool, sure: bool) -> None:
    from nanobot.cli import calls  # noqa: PLC0415 - loads more than the list needs

    by_command = {each.command: each for each in _operations()}
    for count in (3, 2, 1):
        name = " ".join(words[:count])
        operation = by_command.get(name) or by_command.get(f"{name} list")
        if operation is not None:
            break
    else:
        warn(*refusal(words, (), left_out()))
        raise SystemExit(UsageError.exit_code)
    if operation.confirm and not sure:
        raise UsageError(f"{operation.name} needs confirmation: add --yes")
    calls.perform(environ, operation, operation.parsed(" ".join(words[count:])), json=json)


def _listed() -> Iterator[str]:
    yield "Usage: nanobot COMMAND [ARGUMENT]... [--json] [--yes]"
    yield "gateway: serve the chats until stopped"
    for operation in _operations():
        yield f"{operation.command}: {operation.help}"
    if names := left_out():
        yield f"Not loaded: the plugins {some_of(names)}. `nanobot plugins` says why."


def _operations() -> list[Operation]:
    listed = [*OPERATIONS, *plugin_operations()]
    return [each for each in listed if each.listed and not each.own_command]


def refusal(words: Sequence[str], hints: Sequence[str], left_out: Sequence[str]) -> list[str]:
    """The reply to words that are no command. `left_out`: the plugins that could not be loaded."""
    what = " ".join(word for word in words if not word.startswith("-"))
    lines = [f"No such command '{what}'.", *hints]
    if left_out:
        lines.append(
            f"A plugin that could not be loaded may bring it: {some_of(left_out)}. "
            "`nanobot plugins` says why."
        )
    return [*lines, "All commands: nanobot --help"]


def left_out() -> list[str]:
    """The names of the plugins that could not be loaded."""
    return [each.name for each in installed().left_out]
