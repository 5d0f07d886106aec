"""A command line knows no configuration yet, so its plugin is used while it is off; where it cannot
be loaded, operations are performed as chats write them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nanobot.cli import plain
from nanobot.config.loader import load

WITHOUT_TYPER = (
    "import sys\n"
    "sys.modules['typer'] = None\n"
    "sys.argv[0] = 'nanobot'\n"
    "from nanobot.cli import main; main()"
)


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    (tmp_path / "config.toml").write_text('[plugins]\noff = ["command_line"]\n')
    return {"NANOBOT_HOME": str(tmp_path), "NO_COLOR": "1"}


def ran(environ: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_TYPER, *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_without_its_library_operations_are_performed_and_the_plugin_is_named(
    environ: Mapping[str, str],
) -> None:
    listed = ran(environ, "plugins", "--json")
    assert listed.returncode == 0
    assert "command_line of the plugin command_line failed" in listed.stderr
    assert {each["name"]: each["state"] for each in json.loads(listed.stdout)}["sending"] == "on"


def test_operations_are_written_as_in_a_chat(
    environ: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    plain.perform(environ, ["plugins", "off", "voice"])
    assert "The plugin voice is off after the next start" in capsys.readouterr().out
    assert load(environ).plugins.off == ("command_line", "voice")
    plain.perform(environ, ["plugins", "on", "--name=voice"])
    assert load(environ).plugins.off == ("command_line",)


def test_a_path_that_is_not_given_is_not_the_current_folder(
    environ: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        plain.perform(environ, ["eval"])
    assert f"{environ['NANOBOT_HOME']}/evals: no such folder" in capsys.readouterr().err


def test_its_help_lists_the_gateway_and_all_operations(
    environ: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    plain.perform(environ, ["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert "gateway: serve the chats until stopped" in lines
    assert "plugins list: list the installed plugins, their state and their parts" in lines
    assert any(line.startswith("cron list: ") for line in lines)


@pytest.mark.parametrize(
    ("words", "code", "refusal"),
    [
        (["fly", "away"], 2, "No such command 'fly away'."),
        (["restart"], 2, "restart needs confirmation: add --yes"),
        (["gateway", "--port", "80"], 2, "write: nanobot gateway [--role ROLE]..."),
        (["plugins", "on", "voice", "twice"], 2, "unexpected argument 'twice'"),
    ],
)
def test_other_words_are_refused(
    environ: Mapping[str, str],
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    refusal: str,
) -> None:
    with pytest.raises(SystemExit) as ended:
        plain.perform(environ, words)
    assert ended.value.code == code
    assert refusal in capsys.readouterr().err
