"""Every command in a home that cannot be used ends with a sentence, and without a traceback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from typer.main import get_command

from nanobot.plugins.command_line.commands import app
from tests.cli.running import Ran, environ_of, run
from tests.sampling import few

_APART = {
    "upgrade": "changes the installation",
    "update": "changes the installation",
    "uninstall": "changes the machine",
    "service install": "changes the machine",
    "service uninstall": "changes the machine",
}
SERVING = {
    "gateway": "serves until it is stopped",
    "agent": "asks the embedded model",
}
"""Where a home is sound. In one that is not, they have to end."""
Broken: TypeAlias = Callable[[Path], Path]
_FIRST = ("gateway", "agent", "doctor", "db check", "db quarantine show")


def commands(command: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """Every command, with all of its words."""
    for name, below in getattr(command, "commands", {}).items():
        if hasattr(below, "commands"):
            yield from commands(below, *path, name)
        else:
            yield " ".join([*path, name]), below


COMMANDS = dict(commands(get_command(app)))


def below_a_file(folder: Path) -> Path:
    (folder / "file").write_text("a file")
    return folder / "file" / "home"


def not_to_be_made(_: Path) -> Path:
    return Path("/proc/nanobot")


def not_a_database(folder: Path) -> Path:
    (folder / "state.db").write_bytes(b"no database" * 1_000)
    return folder


def a_folder_in_its_place(folder: Path) -> Path:
    (folder / "state.db").mkdir()
    return folder


def a_pipe_in_its_place(folder: Path) -> Path:
    os.mkfifo(folder / "state.db")
    return folder


def a_link_to_itself(folder: Path) -> Path:
    (folder / "state.db").symlink_to("state.db")
    return folder


def a_file_for_a_workspace(folder: Path) -> Path:
    (folder / "workspace").write_text("a file")
    return folder


def a_pipe_for_a_configuration(folder: Path) -> Path:
    os.mkfifo(folder / "config.toml")
    return folder


BROKEN = [
    *(below_a_file, not_to_be_made, not_a_database),
    *(a_folder_in_its_place, a_pipe_in_its_place, a_link_to_itself),
    *(a_file_for_a_workspace, a_pipe_for_a_configuration),
]


def words(name: str) -> list[str]:
    """The command, with something for all that it needs."""
    given = name.split()
    for parameter in COMMANDS[name].params:
        if parameter.name == "yes":
            given.append("--yes")
        elif parameter.required:
            given += ["1"] if parameter.param_type_name == "argument" else [parameter.opts[0], "1"]
    return [*given, "-m", "hello"] if name == "agent" else given


def named(*apart: str) -> list[Any]:
    """The commands but for those; a few of them always."""
    names = [name for name in _FIRST if name not in apart]
    left = COMMANDS.keys() - _APART.keys() - {*_FIRST, *apart}
    return few([*names, *sorted(left)], len(names))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some commands write a file where they are."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


async def ended(home: Path, name: str) -> Ran:
    """How the command ended there: with a sentence, as `mcp serve` with its input."""
    ran = await run(environ_of(home), *words(name))
    assert "Traceback" not in ran.out + ran.err
    assert ran.code in range(6), ran
    assert ran.out.strip() or ran.err.strip() or name == "mcp serve"
    return ran


@pytest.mark.process
@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("name", named())
async def test_no_command_shows_a_traceback(tmp_path: Path, broken: Broken, name: str) -> None:
    ran = await ended(broken(tmp_path), name)
    assert ran.code or name not in SERVING, ran


@pytest.mark.process
@pytest.mark.parametrize("name", named(*SERVING))
async def test_no_command_shows_a_traceback_where_there_is_no_home_yet(
    tmp_path: Path, name: str
) -> None:
    await ended(tmp_path / "home", name)


@pytest.mark.process
async def test_a_home_may_have_any_characters(tmp_path: Path) -> None:
    """Its store is in it, and found again by all that reads it from outside."""
    home = tmp_path / "we?ird#%41 ü&x=y"
    environ, backup = environ_of(home), str(tmp_path / "a?b.db")
    for command in ("status", "db check", "db quarantine list", "db vacuum"):
        assert (await run(environ, *command.split())).code == 0, command
    assert (await run(environ, "db", "backup", backup)).code == 0
    assert (await run(environ, "db", "restore", backup)).code == 0
    assert "sound, revision" in (await run(environ, "doctor")).out
    assert (home / "state.db").is_file()
    assert not (tmp_path / "we").exists()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mount("-t", "tmpfs", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems may not be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


@pytest.fixture
async def unwritable(disk: Path) -> Path:
    """A home with a conversation, on a disk that is read-only by now."""
    assert (await run(environ_of(disk / "home"), "send", "hello")).code == 0
    mount("-o", "remount,ro", str(disk))
    return disk / "home"


@pytest.mark.process
async def test_commands_name_a_home_that_cannot_be_written(unwritable: Path) -> None:
    for command in ("config set agent.name x", "mcp add x true", "status", "plugins off voice"):
        ran = await run(environ_of(unwritable), *command.split())
        assert ran.code == 4, (command, ran)
        assert "cannot be written (Read-only file system)" in ran.err, (command, ran)


@pytest.mark.process
async def test_doctor_examines_all_of_a_home_that_cannot_be_written(unwritable: Path) -> None:
    ran = await run(environ_of(unwritable), "doctor")
    shown = " ".join(ran.out.split())
    assert (ran.code, "Traceback" in ran.err) == (1, False)
    assert f"broken home {unwritable} cannot be written" in shown
    assert "ok model" in shown
