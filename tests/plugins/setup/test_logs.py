"""`nanobot logs` and `nanobot uninstall`: what the gateway logged, and what goes and stays."""

from __future__ import annotations

import os
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from nanobot.plugins.common.gateway_log import log_file_of
from nanobot.plugins.logs import log_file
from nanobot.plugins.logs.log_file import LogFile
from nanobot.plugins.setup.service import removal
from nanobot.plugins.setup.service.log_lines import following, last_lines
from nanobot.system import Installation
from tests.cli.running import environ_of, run
from tests.process.harness import World


async def test_what_a_gateway_logs_is_shown(world: World) -> None:
    before = await world.run("logs")
    assert before.code == 1
    assert "there is no log" in before.errors
    gateway = await world.start()
    await gateway.stop()
    shown = await world.run("logs", "-n", "1")
    assert shown.code == 0
    assert shown.output.count("\n") == 1
    assert "stopping" in shown.output


@pytest.mark.parametrize(
    ("active", "where"), [(True, "from the journal"), (False, "from the file")]
)
async def test_the_journal_is_shown_where_a_service_runs(
    tmp_path: Path, active: bool, where: str
) -> None:
    folder, home = tmp_path / "bin", tmp_path / "home"
    folder.mkdir()
    unit = tmp_path / ".config/systemd/user/nanobot.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(f'Environment="NANOBOT_HOME={home}"\n')
    for name, script in {
        "systemctl": f"exit {0 if active else 3}",
        "journalctl": 'echo "from the journal: $@"',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    LogFile(log_file_of(home)).write("from the file\n")
    path = f"{folder}:{os.environ['PATH']}"
    shown = await run(environ_of(home, PATH=path, HOME=str(tmp_path)), "logs", "-n", "7")
    assert shown.code == 0, shown.err
    assert where in shown.out
    if active:
        assert "--user --unit nanobot.service --no-pager --lines=7" in shown.out


def test_a_log_turns_at_its_size_and_both_files_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "_MOST_BYTES", 100)
    file = log_file_of(tmp_path)
    log = LogFile(file)
    for number in range(60):
        log.write(f"line {number}\n")
    assert last_lines(file, 15) == [f"line {number}" for number in range(45, 60)]
    assert sum(each.stat().st_size for each in file.parent.iterdir()) < 300


def test_following_goes_on_in_the_file_that_takes_its_place(tmp_path: Path) -> None:
    file = log_file_of(tmp_path)
    log = LogFile(file)
    log.write("before\n")
    written = iter(["one\n", "two", " halves\n", "", "anew\n"])

    def sleep(_: float) -> None:
        if text := next(written):
            log.write(text)
        else:
            file.replace(file.with_name("gateway.log.1"))

    with closing(following(file, sleep)) as lines:
        assert list(islice(lines, 3)) == ["one", "two halves", "anew"]


def test_a_log_whose_folder_is_gone_begins_anew(tmp_path: Path) -> None:
    file = log_file_of(tmp_path)
    log = LogFile(file)
    log.write("before\n")
    file.unlink()
    file.parent.rmdir()
    log.write("half an emoji: \ud83d\n")
    assert last_lines(file, 2) == ["half an emoji: ?"]


def test_a_log_that_cannot_be_written_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder would be")
    LogFile(log_file_of(tmp_path)).write("lost\n")


async def test_uninstalling_asks_and_says_what_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environ = environ_of(home, HOME=str(tmp_path))
    asked = await run(environ, "uninstall")
    assert asked.code == 2
    assert "add --yes" in asked.err
    done = await run(environ, "uninstall", "--yes")
    assert done.code == 0, done.err
    assert f"rm -r {home}" in done.out
    assert home.exists()


def test_only_links_to_this_installation_are_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
    command = tmp_path / "venv" / "bin" / "nanobot"
    (mine / "nanobot").symlink_to(command)
    (other / "nanobot").symlink_to(tmp_path / "elsewhere" / "nanobot")
    environ = {"PATH": f"{mine}:{other}", "HOME": str(tmp_path), "NANOBOT_HOME": str(tmp_path)}
    assert removal.run(environ, Installation(str(tmp_path / "venv"))) == 0
    assert not (mine / "nanobot").is_symlink()
    assert (other / "nanobot").is_symlink()
    assert "Removed the link" in capsys.readouterr().out
