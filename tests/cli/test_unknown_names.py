"""What has no such name ends with exit code 1, whichever command was asked; words that a command
has a fixed list of, and files, are its usage: 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import Ran, environ_of, run
from tests.cli.test_broken_homes import _APART, COMMANDS, SERVING
from tests.sampling import few

UNKNOWN = "987654321"
"""Neither a number nor a name of anything."""
RIGHT = {
    "text": "every 2 hours Look at the builds",
    "tool": "exec",
    "kind": "telegram",
}
"""What a command has to be told rightly before it looks at its options."""
_FIRST = ("mcp remove", "mcp test", "runs show", "approvals show")
_SAYS_SO = re.compile(r"\bthere is no |\bno one was given|\bnothing is known of", re.IGNORECASE)
_USAGE = re.compile(
    r"there is no (file|folder|store|key|zone|channel type|JSON|such day|kind)", re.IGNORECASE
)


def words(name: str, option: str = "") -> list[str]:
    """The command, with names of nothing for all that it takes or needs, or for one option."""
    given = name.split()
    for parameter in COMMANDS[name].params:
        word = RIGHT.get(parameter.name, UNKNOWN) if option else UNKNOWN
        if parameter.name == "yes":
            given.append("--yes")
        elif parameter.param_type_name == "argument":
            given += [word] if parameter.required or not option else []
        elif parameter.required:
            given += [parameter.opts[0], word]
    return [*given, option, UNKNOWN] if option else given


def options() -> list[tuple[str, str]]:
    """Each option that takes a word, with its command."""
    return [
        (name, parameter.opts[0])
        for name in sorted(COMMANDS.keys() - _APART.keys() - SERVING.keys())
        for parameter in COMMANDS[name].params
        if parameter.param_type_name == "option"
        if not (parameter.required or parameter.is_flag or parameter.count)
    ]


def holds(ran: Ran) -> None:
    """It ended with the code that its sentence has, and the log has no part in that."""
    unknown = _SAYS_SO.search(ran.err) and not _USAGE.search(ran.err)
    assert ran.code in ((1,) if unknown else range(6)), ran
    assert "Traceback" not in ran.err, ran
    assert "WARNING" not in ran.err, ran


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some commands write a file where they are."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


_NAMES = COMMANDS.keys() - _APART.keys() - SERVING.keys() - {*_FIRST}


@pytest.mark.process
@pytest.mark.parametrize("name", few([*_FIRST, *sorted(_NAMES)], len(_FIRST)))
async def test_an_unknown_name_is_exit_code_1(tmp_path: Path, name: str) -> None:
    holds(await run(environ_of(tmp_path / "home"), *words(name)))


_MEMORY = ("memory search", "--scope")


@pytest.mark.process
@pytest.mark.parametrize(("name", "option"), few([_MEMORY, *sorted({*options()} - {_MEMORY})]))
async def test_so_is_one_of_an_option(tmp_path: Path, name: str, option: str) -> None:
    holds(await run(environ_of(tmp_path / "home"), *words(name, option)))
