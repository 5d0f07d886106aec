"""Commands whose standard streams are closed or not UTF-8, and arguments that are not UTF-8.

Real processes: Python itself decides at its start what these streams are.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.cli.running import Ran, environ_of

pytestmark = pytest.mark.process

_ASCII = {"PYTHONIOENCODING": "ascii", "LANG": "zh_CN.UTF-8"}
_WITHOUT_UTF8 = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


async def shell(home: Path, line: str, *words: str | bytes, **environ: str) -> Ran:
    """A command by way of a shell, where `nanobot` is the word for it."""
    given = ["-c", f'nanobot() {{ "$PYTHON" -m nanobot "$@"; }}\n{line}', "sh", *words]
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", *given, stdout=PIPE, stderr=PIPE, stdin=PIPE,
        env=environ_of(home, PYTHON=sys.executable, **environ), cwd=home.parent,
    )  # fmt: skip
    out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(errors="replace"), err.decode())


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
async def test_a_closed_stream_changes_nothing_else(tmp_path: Path, closed: str) -> None:
    home = tmp_path / "home"
    ran = await shell(home, f"nanobot send Hello {closed} && nanobot sessions list --json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out[ran.out.index("[") :])[0]["title"] == "Hello"


async def test_what_an_output_cannot_show_is_escaped(tmp_path: Path) -> None:
    home, title = tmp_path / "home", "Grüße 中文 😀"
    await shell(home, 'nanobot send "$1"', title)
    for environ in (_ASCII, {"PYTHONIOENCODING": "latin-1"}):
        for line in ("nanobot sessions list", "nanobot plugins list", "nanobot config get"):
            ran = await shell(home, line, **environ)
            assert (ran.code, ran.err) == (0, ""), (line, environ)
        (row,) = json.loads((await shell(home, "nanobot sessions list --json", **environ)).out)
        assert row["title"] == title


@pytest.mark.parametrize("environ", [{}, _WITHOUT_UTF8])
async def test_arguments_are_utf8_in_any_locale(tmp_path: Path, environ: dict[str, str]) -> None:
    home = tmp_path / "home"
    ran = await shell(home, 'nanobot send "$1"', "Grüße", **environ)
    assert (ran.code, ran.err) == (0, "")
    (row,) = json.loads((await shell(home, "nanobot sessions list --json")).out)
    assert row["title"] == "Grüße"
    for line in ("sessions rename", "agent -m", "config set agent.name", "plugins on"):
        ran = await shell(home, f'nanobot {line} "$1"', b"a\xff", **environ)
        assert (ran.code, ran.err) == (2, "nanobot: 'a\\udcff' is not UTF-8\n")


@pytest.mark.parametrize("line", ["version", "--help", "plugins list", "config get", "db check"])
async def test_an_output_on_a_full_disk_is_named(tmp_path: Path, line: str) -> None:
    home = tmp_path / "home"
    await shell(home, "nanobot send Hello")
    ran = await shell(home, f"nanobot {line} > /dev/full")
    why = "nanobot: the output cannot be written: No space left on device\n"
    assert (ran.code, ran.err) == (1, why)


async def test_a_gateway_whose_output_cannot_be_written_serves(tmp_path: Path) -> None:
    """It has one line to say, and people wait for it."""
    ran = await shell(
        tmp_path / "home",
        """"$PYTHON" -m nanobot gateway > /dev/full 2> log & gateway=$!
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            nanobot status | grep 'Gateway: up' && break; sleep 1
        done
        kill $gateway; wait $gateway""",
    )
    assert (ran.code, "Gateway: up" in ran.out) == (0, True), ran


@pytest.mark.parametrize("line", ["logs --lines", "db quarantine show"])
async def test_a_number_beyond_all_is_refused(tmp_path: Path, line: str) -> None:
    home = tmp_path / "home"
    await shell(home, "nanobot send Hello; mkdir -p home/logs; touch home/logs/gateway.log")
    ran = await shell(home, f"nanobot {line} {10**30}")
    assert (ran.code, ran.out, "Traceback" in ran.err) == (2, "", False), ran


async def test_python_without_docstrings_is_refused_with_the_remedy(tmp_path: Path) -> None:
    ran = await shell(tmp_path / "home", "nanobot status", PYTHONOPTIMIZE="2")
    assert ran.code == 2
    assert ran.err == "nanobot: start Python without -OO (PYTHONOPTIMIZE=2), which drops texts\n"
