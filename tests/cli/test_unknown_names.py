"""What has no such name ends with exit code 1, whichever command was asked; words that a command
has a fixed list of, and files, are its usage: 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import environ_of, run
from tests.cli.test_broken_homes import _APART, COMMANDS
from tests.sampling import few

UNKNOWN = "987654321"
"""Neither a number nor a name of anything."""
_FIRST = ("mcp remove", "mcp test", "runs show", "approvals show")
_SAYS_SO = re.compile(r"\bthere is no |\bno one was given|\bnothing is known of", re.IGNORECASE)
_USAGE = re.compile(r"there is no (file|folder|store|key|zone|channel type|JSON)", re.IGNORECASE)


def words(name: str) -> list[str]:
    """The command, with names of nothing for all that it takes or needs."""
    given = name.split()
    for parameter in COMMANDS[name].params:
        if parameter.name == "yes":
            given.append("--yes")
        elif parameter.param_type_name == "argument":
            given.append(UNKNOWN)
        elif parameter.required:
            given += [parameter.opts[0], UNKNOWN]
    return given


@pytest.mark.process
@pytest.mark.parametrize(
    "name", few([*_FIRST, *sorted(COMMANDS.keys() - _APART.keys() - {*_FIRST})], len(_FIRST))
)
async def test_an_unknown_name_is_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")  # some write a file where they are
    ran = await run(environ_of(tmp_path / "home"), *words(name))
    unknown = _SAYS_SO.search(ran.err) and not _USAGE.search(ran.err)
    if unknown:
        assert ran.code == 1, ran
    else:
        assert ran.code in range(6), ran
