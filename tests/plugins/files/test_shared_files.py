"""Files of the workspace as their owner looks through them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nanobot.errors import NanobotError
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.files import shared_files
from nanobot.plugins.files.shared_files import SharedFiles
from nanobot.tools.registry import ToolRegistry


def test_a_file_that_goes_while_its_folder_is_read_keeps_nobody_from_the_others(
    tmp_path: Path,
) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).touch()
    with os.scandir(tmp_path) as entries:
        first, second = entries
    (tmp_path / first.name).unlink()
    view = shared_files._view
    assert view("", first, ()) is None
    row = view("", second, ())
    assert row is not None
    assert row.path == second.name


async def test_folders_come_first_and_what_is_hidden_does_not_come(tmp_path: Path) -> None:
    (tmp_path / "z").mkdir()
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "secret").mkdir()
    files = SharedFiles(ConfinedFiles(tmp_path, hidden=(tmp_path / "secret",)), ToolRegistry())
    assert [(row.path, row.kind) for row in await files.listed("")] == [
        ("z", "folder"),
        ("a.txt", "file"),
    ]
    assert (await files.shown("a.txt")).text == "hello"
    for path in ("z", "missing", "/etc/passwd", "../up", "a\0b"):
        with pytest.raises(NanobotError):
            await files.shown(path)
