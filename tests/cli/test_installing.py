"""How nanobot gets onto a machine, and what it says of that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nanobot import __version__
from nanobot.cli.upgrade import run as upgrade
from nanobot.errors import NanobotError
from nanobot.system import Installation

ROOT = Path(__file__).resolve().parents[2]


def installed(folder: Path, kind: str) -> Installation:
    """nanobot as it would be found after that kind of installation."""
    package = folder / "lib" / "nanobot"
    package.mkdir(parents=True)
    receipts = {"pipx": "pipx_metadata.json", "uv": "uv-receipt.toml"}
    if kind in receipts:
        (folder / receipts[kind]).write_text("")
    if kind == "checkout":
        (folder / "lib" / "Makefile").write_text("")
    return Installation(str(folder), package)


@pytest.mark.parametrize(
    ("kind", "adding", "upgrading"),
    [
        (
            "pipx",
            'pipx inject nanobot-gateway "nanobot-gateway[email]"',
            "pipx upgrade nanobot-gateway",
        ),
        (
            "uv",
            'uv tool install --force "nanobot-gateway[email]"',
            "uv tool upgrade nanobot-gateway",
        ),
        (
            "pip",
            'HERE/bin/python -m pip install "nanobot-gateway[email]"',
            "HERE/bin/python -m pip install --quiet --upgrade nanobot-gateway",
        ),
        (
            "checkout",
            'HERE/bin/python -m pip install -e "HERE/lib[email]"',
            "git -C HERE/lib pull --ff-only --no-stat\nmake -C HERE/lib install VENV=HERE",
        ),
    ],
)
def test_every_hint_names_what_is_right_for_how_it_was_installed(
    tmp_path: Path, kind: str, adding: str, upgrading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = installed(tmp_path, kind)
    assert installation.kind == kind
    assert installation.adding("email") == adding.replace("HERE", str(tmp_path))
    assert upgrade({}, show=True, installation=installation) == 0
    assert capsys.readouterr().out == upgrading.replace("HERE", str(tmp_path)) + "\n"


def test_an_upgrade_whose_program_fails_says_which(tmp_path: Path) -> None:
    installation = installed(tmp_path, "pip")
    with pytest.raises(NanobotError, match="is not on PATH"):
        upgrade({}, show=False, installation=installation)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "bin" / "python").chmod(0o755)
    with pytest.raises(
        NanobotError, match="install --quiet --upgrade nanobot-gateway ended with 7"
    ):
        upgrade({}, show=False, installation=installation)


PYTHON = """#!/bin/sh
[ "$1" = -m ] || echo VERSION
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$CALLS"
[ ! -e "$CALLS.broken" ] || { echo "Unit is masked" >&2; exit 1; }
"""


def made(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def test_an_upgrade_says_from_what_to_what_and_starts_the_service_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = installed(tmp_path, "pip")
    made(tmp_path / "bin" / "python", PYTHON.replace("VERSION", "9.9.9"))
    made(tmp_path / "tools" / "systemctl", SYSTEMCTL)
    calls = tmp_path / "calls"
    environ = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/tools:/usr/bin:/bin"}
    environ["CALLS"] = str(calls)
    assert upgrade(environ, show=False, installation=installation) == 0
    output = capsys.readouterr().out
    assert f"nanobot {__version__} was here, 9.9.9 is." in output
    assert "keeps the old version until it is started again" in output
    assert not calls.exists()
    unit = tmp_path / ".config" / "systemd" / "user" / "nanobot.service"
    made(unit, "[Service]")
    assert upgrade(environ, show=False, installation=installation) == 0
    assert f"The service is started again: {unit}" in capsys.readouterr().out
    assert calls.read_text() == "--user restart nanobot.service\n"
    made(tmp_path / "calls.broken", "")
    assert upgrade(environ, show=False, installation=installation) == 0
    assert (
        "the service keeps the old version: systemctl restart nanobot.service: Unit is masked"
        in (capsys.readouterr().err)
    )


def test_an_upgrade_to_what_is_there_starts_nothing_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = installed(tmp_path, "pip")
    made(tmp_path / "bin" / "python", PYTHON.replace("VERSION", __version__))
    assert upgrade({}, show=False, installation=installation) == 0
    assert f"nanobot {__version__} is the newest there is." in capsys.readouterr().out


def linked(command: Path, home: Path, path: str) -> str:
    script = ROOT / "requirements" / "link.py"
    environ = {"HOME": str(home), "PATH": path}
    done = subprocess.run(
        [sys.executable, script, command], env=environ, capture_output=True, text=True, check=True
    )
    return done.stderr


def test_the_command_is_linked_where_path_has_a_place_for_it(tmp_path: Path) -> None:
    command, folder = tmp_path / "venv" / "nanobot", tmp_path / ".local" / "bin"
    folder.mkdir(parents=True)
    path = f"/usr/bin{os.pathsep}{folder}"
    for _ in range(2):
        assert "Call it from anywhere: nanobot " in linked(command, tmp_path, path)
        assert (folder / "nanobot").readlink() == command
    assert f"anywhere: {command} " in linked(command, tmp_path, "/usr/bin")


def test_a_command_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / "nanobot").write_text("another one")
    command = tmp_path / "venv" / "nanobot"
    assert f"anywhere: {command} " in linked(command, tmp_path, str(folder))
    assert (folder / "nanobot").read_text() == "another one"


def test_what_pip_says_is_shown_if_it_fails_and_its_code_is_kept(tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text("no-such-package-of-anybody==1.0\n")
    done = subprocess.run(
        [
            *(sys.executable, ROOT / "requirements" / "progress.py"),
            *("--no-index", "--find-links", str(tmp_path), "-r", str(pins)),
        ],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "No matching distribution found for no-such-package-of-anybody" in done.stderr
