"""A command line knows no configuration yet, so its plugin is used while it is off; where it cannot
be loaded, only the gateway is there, and every other command says so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nanobot import __version__
from nanobot.cli import commands
from nanobot.config.loader import load
from nanobot.seam.installed import installed

MAIN = "import sys\nsys.argv[0] = 'nanobot'\nfrom nanobot.cli import main; main()"
WITHOUT_TYPER = f"import sys\nsys.modules['typer'] = None\n{MAIN}"
REFUSAL = (
    "nanobot: only `nanobot gateway [--role ROLE]...` and `nanobot --version` are there: all other "
    "commands need the plugin command_line, which cannot be loaded. Install nanobot-gateway again "
    "to get it back."
)


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    (tmp_path / "config.toml").write_text('[plugins]\noff = ["command_line"]\n')
    return {"NANOBOT_HOME": str(tmp_path), "NO_COLOR": "1"}


def ran(program: str, environ: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_commands_are_there_while_it_is_off_and_switch_it_on(environ: Mapping[str, str]) -> None:
    listed = ran(MAIN, environ, "plugins", "--json")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert {each["name"]: each["state"] for each in json.loads(listed.stdout)}["sending"] == "on"
    switched = ran(MAIN, environ, "plugins", "on", "command_line")
    assert "The plugin command_line is on after the next start" in switched.stdout
    assert load(environ).plugins.off == ()


@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [
        ["plugins", "--json"],
        ["--help"],
        [],
        ["fly", "away"],
        ["gateway", "--port", "80"],
    ],
)
def test_without_its_library_only_the_gateway_is_there(
    environ: Mapping[str, str], words: list[str]
) -> None:
    refused = ran(WITHOUT_TYPER, environ, *words)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "command_line of the plugin command_line failed" in refused.stderr
    assert refused.stderr.splitlines()[-1] == REFUSAL
    version = ran(WITHOUT_TYPER, environ, "--version")
    assert (version.stdout, version.stderr) == (f"nanobot {__version__}\n", "")


def test_where_it_cannot_be_loaded_commands_say_so(
    environ: Mapping[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(installed().found, "command_line")
    with pytest.raises(SystemExit) as ended:
        commands.run(environ, ["status"], None)
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{REFUSAL}\n"
