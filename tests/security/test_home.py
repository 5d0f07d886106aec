"""What other users of the machine, and the workspace, reach of a home."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.home import open_to_others
from nanobot.config.loader import load
from nanobot.errors import ConfigError
from tests.process.harness import PATIENCE, Nanobot, World


async def start(home: Path, text: str = "") -> None:
    environ = {"NANOBOT_HOME": str(home), "PATH": "/usr/bin:/bin"}
    if text:
        (home / "config.toml").write_text(text)
    async with Gateway(load(environ), environ, channels=False).serving("test", lambda _: None):
        assert stat.S_IMODE(os.stat(home).st_mode) == 0o700  # noqa: PTH116 - at once
        assert not open_to_others(home, home / "workspace")


@pytest.mark.parametrize("umask", [0o000, 0o022])
async def test_a_home_is_for_its_owner_alone_from_its_first_start_on(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        await start(tmp_path / "new" / "home")
    finally:
        os.umask(before)


async def test_a_home_that_was_open_is_closed_at_the_next_start(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    await start(home)


async def test_all_that_was_open_in_a_home_is_closed_and_what_links_lead_to_is_not(
    tmp_path: Path,
) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside.txt"
    (home / "blobs" / "ab").mkdir(parents=True)
    (home / "blobs" / "ab" / "picture").write_text("x")
    (home / "tool.sh").write_text("x")
    (home / "tool.sh").chmod(0o4755)
    outside.write_text("x")
    outside.chmod(0o644)
    (home / "link").symlink_to(outside)
    for path in (home, home / "blobs", home / "blobs" / "ab"):
        path.chmod(0o777)
    await start(home)
    assert (home / "blobs" / "ab" / "picture").stat().st_mode & 0o777 == 0o600
    assert (home / "tool.sh").stat().st_mode & 0o7777 == 0o4700
    assert outside.stat().st_mode & 0o777 == 0o644


async def test_whatever_a_gateway_makes_is_for_its_owner_alone(world: World) -> None:
    before = os.umask(0o000)
    try:
        await world.start()
        for number, call in enumerate(
            (
                'write_file:{"path": "a/b.txt", "content": "x"}',
                'exec:{"command": "mkdir made; echo x > made/by-command; touch ~/in-home"}',
                'memory_save:{"text": "The door code is 4711."}',
            )
        ):
            world.telegram.say(1, f"tool:{call}\nsay:done")
            await world.answered(1, number + 1)
        (gateway,) = world.processes_started
        await gateway.stop()
        assert (await world.run("status")).code == 0
    finally:
        os.umask(before)
    paths = [path for path in world.home.rglob("*") if not path.is_symlink()]
    assert {"state.db", "b.txt", "by-command", "in-home"} <= {path.name for path in paths}
    mine = {world.home / "config.toml"}
    opened = [path for path in paths if path.stat().st_mode & 0o077 and path not in mine]
    assert opened == []


@pytest.mark.parametrize("above", ["..", "../..", ".", "../link"])
async def test_a_workspace_that_holds_the_home_is_refused(tmp_path: Path, above: str) -> None:
    home = tmp_path / "user" / "home"
    home.mkdir(parents=True)
    (tmp_path / "user" / "link").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="name a folder next to the home or below it"):
        await start(home, f'workspace = "{home / above}"')


UNKNOWN = ("unshare", "-U", "--map-user=54321", "--map-group=54321")


def can_be_unknown() -> bool:
    """Whether there are user namespaces here."""
    tried = shutil.which("unshare") and subprocess.run([*UNKNOWN, "true"], check=False)
    return not isinstance(tried, str | None) and tried.returncode == 0


@pytest.mark.skipif(not can_be_unknown(), reason="there are no user namespaces here")
@pytest.mark.parametrize("with_home", [True, False])
async def test_a_user_whom_the_machine_has_no_name_for_is_answered(
    world: World, tmp_path: Path, with_home: bool
) -> None:
    environ = world.environ() | ({"HOME": str(tmp_path)} if with_home else {})
    command = (*UNKNOWN, sys.executable, "-m", "nanobot", "agent", "-m", "say:hello")
    process = await asyncio.create_subprocess_exec(
        *command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert (process.returncode, output.decode().strip()) == (0, "hello")


async def test_a_backup_goes_to_no_file_that_somebody_put_in_its_way(
    world: World, tmp_path: Path, gateway: Nanobot
) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    own.write_text("the owner's own")
    (shared / ".backup.db.part").symlink_to(own)
    (shared / ".other.db.part").mkdir()
    assert (await world.run("db", "backup", str(shared / "backup.db"))).code == 0
    refused = await world.run("db", "backup", str(shared / "other.db"))
    assert await gateway.stop() == 0
    assert own.read_text() == "the owner's own"
    assert stat.S_IMODE((shared / "backup.db").stat().st_mode) == 0o600
    assert not (shared / "backup.db").is_symlink()
    assert refused.code != 0
    assert "cannot be made" in refused.errors
    assert not (shared / "other.db").exists()
