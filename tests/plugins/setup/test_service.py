"""`nanobot service` writes what systemd and launchd understand, and asks them to run it."""

from __future__ import annotations

import os
import plistlib
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from nanobot.errors import ConfigError
from nanobot.plugins.setup.service.definition import LABEL, Definition
from nanobot.plugins.setup.service.manager import environment_text
from tests.cli.running import environ_of, run

SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$CALLS"
[ "$FAIL_AT" != "$2" ] || { echo "Unit not loaded properly" >&2; exit 1; }
[ "$2" != status ] || echo "Active: active (running)"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user's session with a systemctl that writes down what it is asked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("systemctl", "loginctl"):
        (folder / name).write_text(SYSTEMCTL)
        (folder / name).chmod(0o755)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('[channels.telegram]\ntoken = "${BOT_TOKEN}"\n')
    return environ_of(
        tmp_path / "home",
        PATH=f"{folder}:{os.environ['PATH']}",
        HOME=str(tmp_path),
        CALLS=str(tmp_path / "calls"),
        BOT_TOKEN='12:a "b" $c\\d',
        OPENAI_API_KEY="sk-1",
        UNRELATED="no",
    )


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


def definition(tmp_path: Path, home: str = "my home 100%", user: str = "") -> Definition:
    return Definition(
        home=tmp_path / home,
        command=("/usr/bin/python3", "-m", "nanobot", "gateway"),
        writable=(tmp_path / home,),
        environment=tmp_path / home / "service.env",
        path="/usr/bin:/bin",
        drain_seconds=30.0,
        user=user,
    )


async def test_it_is_enabled_and_started_with_the_keys_of_this_shell(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = await run(environ, "service", "install")
    assert done.code == 0, done.err
    unit = (tmp_path / ".config/systemd/user/nanobot.service").read_text()
    assert f'Environment="NANOBOT_HOME={tmp_path}/home"' in unit
    kept = tmp_path / "home" / "service.env"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.read_text().splitlines()[0] == r'BOT_TOKEN="12:a \"b\" \$c\\d"'
    assert "OPENAI_API_KEY" in kept.read_text()
    assert "UNRELATED" not in kept.read_text()
    assert "sk-1" not in done.out + unit
    assert calls(tmp_path) == [
        "--user daemon-reload",
        "--user enable nanobot.service",
        "--user restart nanobot.service",
        "enable-linger",
    ]


async def test_what_the_manager_refuses_is_said_in_its_words(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = await run(environ | {"FAIL_AT": "enable"}, "service", "install")
    assert done.code == 1
    assert "systemctl enable nanobot.service: Unit not loaded properly" in done.err


async def test_a_configuration_that_would_not_start_is_not_installed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "home" / "config.toml").write_text("[agent]\nmax_tokens = 0\n")
    done = await run(environ, "service", "install")
    assert done.code == 3
    assert not (tmp_path / "calls").exists()


async def test_status_tells_whether_it_is_installed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    assert (await run(environ, "service", "status")).code == 1
    await run(environ, "service", "install")
    done = await run(environ, "service", "status")
    assert (done.code, done.out) == (0, "Active: active (running)\n")


@pytest.mark.parametrize("step", ["daemon-reload", "enable", "restart"])
async def test_an_installation_that_fails_leaves_nothing_behind(
    environ: dict[str, str], tmp_path: Path, step: str
) -> None:
    done = await run(environ | {"FAIL_AT": step}, "service", "install")
    assert done.code == 1
    assert "Unit not loaded properly" in done.err
    assert not (tmp_path / ".config/systemd/user/nanobot.service").exists()
    assert not (tmp_path / "home" / "service.env").exists()
    assert (await run(environ, "service", "status")).code == 1
    assert (await run(environ, "service", "uninstall")).out == "It was not installed.\n"


async def test_an_installation_that_fails_keeps_the_service_of_before(
    environ: dict[str, str], tmp_path: Path
) -> None:
    await run(environ, "service", "install")
    unit = tmp_path / ".config/systemd/user/nanobot.service"
    files = (unit, tmp_path / "home" / "service.env")
    before = [file.read_text() for file in files]
    changed = environ | {
        "FAIL_AT": "restart",
        "OPENAI_API_KEY": "sk-2",
        "PATH": environ["PATH"] + ":/x",
    }
    assert (await run(changed, "service", "install")).code == 1
    assert [file.read_text() for file in files] == before
    assert "--user disable --now nanobot.service" not in calls(tmp_path)


async def test_a_service_that_does_not_run_is_no_success(environ: dict[str, str]) -> None:
    await run(environ, "service", "install")
    done = await run(environ | {"FAIL_AT": "is-active"}, "service", "status")
    assert (done.code, done.out) == (1, "Active: active (running)\n")


async def test_a_service_that_cannot_be_stopped_is_removed_all_the_same(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """A second time there is nothing left to fail at."""
    await run(environ, "service", "install")
    unit = tmp_path / ".config/systemd/user/nanobot.service"
    wants = unit.parent / "default.target.wants"
    wants.mkdir()
    (wants / unit.name).symlink_to(unit)
    done = await run(environ | {"FAIL_AT": "disable"}, "service", "uninstall")
    assert done.code == 1
    assert "is removed, but the service may still run" in done.err
    assert not unit.exists()
    assert not list(wants.iterdir())
    assert not (tmp_path / "home" / "service.env").exists()
    done = await run(environ | {"FAIL_AT": "disable"}, "service", "uninstall")
    assert (done.code, done.out) == (0, "It was not installed.\n")


async def test_uninstalling_leaves_no_keys_behind(environ: dict[str, str], tmp_path: Path) -> None:
    await run(environ, "service", "install")
    done = await run(environ, "service", "uninstall")
    assert done.code == 0, done.err
    assert not (tmp_path / "home" / "service.env").exists()
    assert not (tmp_path / ".config/systemd/user/nanobot.service").exists()
    assert (tmp_path / "home" / "config.toml").exists()
    assert "--user disable --now nanobot.service" in calls(tmp_path)


async def test_what_would_be_installed_can_be_looked_at(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = await run(environ, "service", "install", "--print")
    assert done.out.startswith("[Unit]")
    assert not (tmp_path / "calls").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
@pytest.mark.parametrize("user", ["", "daemon"])
def test_systemd_understands_the_unit(tmp_path: Path, user: str) -> None:
    (tmp_path / "my home 100%").mkdir()
    file = tmp_path / "nanobot.service"
    file.write_text(definition(tmp_path, user=user).unit())
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if str(file) in line]
    assert ours == []


def test_a_path_that_no_unit_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="rename that folder"):
        definition(tmp_path, home="two\nlines").unit()


def test_launchd_is_given_the_same(tmp_path: Path) -> None:
    job = plistlib.loads(definition(tmp_path).job({"KEY": "value"}, tmp_path))
    assert job["Label"] == LABEL
    assert job["ProgramArguments"][-1] == "gateway"
    assert job["EnvironmentVariables"]["KEY"] == "value"
    assert job["EnvironmentVariables"]["NANOBOT_HOME"].endswith("my home 100%")
    assert job["ExitTimeOut"] == 60


def test_a_value_cannot_become_a_second_variable() -> None:
    text = environment_text({"KEY": 'a"\nOTHER="b'})
    assert text.startswith('KEY="a\\"')
    assert '\nOTHER=\\"b"\n' in text
