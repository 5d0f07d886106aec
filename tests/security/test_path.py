"""Ways to make the file tools leave the workspace."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from nanobot.errors import ToolError
from nanobot.plugins.common.files.confinement import ConfinedFiles
from tests.security.attacking import ACTS, SECRET, Home

OUTWARD = (
    "../config.toml",
    "./../config.toml",
    "inner/../../config.toml",
    "nowhere/../../config.toml",
    "inner/../inner/../../workspace/../config.toml",
    "//etc//passwd",
    "HOME/config.toml",
    "HOME/workspace/../config.toml",
    "HOME/workspace/./inner/../../config.toml",
    "HOME/workspace-evil/config.toml",
    "link",
    "chain",
    "inner/far",
    "up/config.toml",
    "up/workspace/../config.toml",
    "root/etc/passwd",
    "absolute/config.toml",
    "/proc/self/environ",
    "/proc/self/cwd/../config.toml",
    "/dev/stdin",
    "~/.ssh/id_rsa/../../../../etc/passwd",
    "..\\..\\config.toml/../../config.toml",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    inner = home.workspace / "inner"
    inner.mkdir()
    (home.workspace / "link").symlink_to("../config.toml")
    (home.workspace / "chain").symlink_to("inner/far")
    (inner / "far").symlink_to("../../config.toml")
    (home.workspace / "up").symlink_to("..")
    (home.workspace / "root").symlink_to("/")
    (home.workspace / "absolute").symlink_to(tmp_path)
    return home


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("path", OUTWARD)
async def test_no_path_leads_out_of_the_workspace(home: Home, act: str, path: str) -> None:
    await home.refused(act, path.replace("HOME", str(home.folder)))


@pytest.mark.parametrize("path", ["dangling", "up/new", "inner/../../new/deep", "../new"])
async def test_nothing_new_is_made_outside(home: Home, path: str) -> None:
    (home.workspace / "dangling").symlink_to("../new")
    await home.refused("write", path)


@pytest.mark.parametrize("act", ["read", "write", "edit", "search"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
async def test_what_is_no_file_keeps_nobody_waiting(home: Home, act: str, kind: str) -> None:
    path = home.workspace / kind
    with socket.socket(socket.AF_UNIX) as listening:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            listening.bind(str(path))
        else:
            path.symlink_to("/dev/zero")
        await home.refused(act, kind)


@pytest.mark.parametrize("act", ACTS)
async def test_a_name_of_a_hidden_file_by_a_hard_link_opens_nothing(home: Home, act: str) -> None:
    os.link(home.config, home.workspace / "innocent.txt")
    await home.refused(act, "innocent.txt")


async def test_a_search_of_everything_leaves_a_hard_link_to_a_hidden_file_out(home: Home) -> None:
    os.link(home.config, home.workspace / "innocent.txt")
    assert SECRET not in await home.call("search_files", pattern="sk-")


async def test_searching_and_listing_everything_follow_no_link(home: Home) -> None:
    assert await home.call("search_files", pattern="sk-") == "[nothing found]"
    listed = await home.call("list_dir", path=".", glob="**/*")
    assert "config.toml  file" not in listed


EXCHANGE = """
import ctypes, sys
libc, here, swap = ctypes.CDLL(None), -100, 2
one, other = sys.argv[1].encode(), sys.argv[2].encode()
while True:
    assert libc.renameat2(here, one, here, other, swap) == 0
"""


@pytest.mark.parametrize("act", ["read", "list", "search"])
async def test_a_folder_exchanged_for_a_link_at_the_right_moment_gains_nothing(
    home: Home, act: str
) -> None:
    home.use(ConfinedFiles(home.workspace))
    inside, trap = home.workspace / "swapped", home.workspace / "trap"
    inside.mkdir()
    (inside / "config.toml").write_text("harmless")
    trap.symlink_to("..")
    swapping = await asyncio.create_subprocess_exec(
        sys.executable, "-c", EXCHANGE, str(inside), str(trap)
    )
    name, more = ACTS[act]
    path = "swapped/config.toml" if act == "read" else "swapped"
    try:
        for _ in range(10 if act == "search" else 300):
            try:
                seen = await home.call(name, path=path, **more)
            except ToolError as error:
                seen = str(error)
            assert SECRET not in seen
            assert "workspace/  folder" not in seen
    finally:
        swapping.kill()
        await swapping.wait()


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "x" * 300, "a/" * 2_000])
async def test_what_is_no_path_is_a_plain_error(home: Home, act: str, path: str) -> None:
    await home.refused(act, path)


@pytest.mark.parametrize("glob", ["../*", "/etc/*", "../../**", "up/*", "{..,inner}/*"])
async def test_no_glob_leads_out_of_the_workspace(home: Home, glob: str) -> None:
    assert "config.toml  file" not in await home.call("list_dir", path=".", glob=glob)
    assert SECRET not in await home.call("search_files", pattern="sk-", glob=glob)
