"""What other users of the machine, and the workspace, reach of a home."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.errors import ConfigError


async def start(home: Path, text: str = "") -> None:
    environ = {"NANOBOT_HOME": str(home), "PATH": "/usr/bin:/bin"}
    if text:
        (home / "config.toml").write_text(text)
    async with Gateway(load(environ), environ, channels=False).serving("test", lambda _: None):
        assert stat.S_IMODE(os.stat(home).st_mode) == 0o700  # noqa: PTH116 - at once


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


@pytest.mark.parametrize("above", ["..", "../..", ".", "../link"])
async def test_a_workspace_that_holds_the_home_is_refused(tmp_path: Path, above: str) -> None:
    home = tmp_path / "user" / "home"
    home.mkdir(parents=True)
    (tmp_path / "user" / "link").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="name a folder beside or below the home"):
        await start(home, f'workspace = "{home / above}"')
