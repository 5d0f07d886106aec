from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import ConfigError, ToolDenied, ToolError
from nanobot.messages import Address, Role
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.file_tools.tools import MAX_ENTRIES, file_tools
from nanobot.tools.base import CallContext, Effect
from nanobot.tools.registry import ToolRegistry

SECRET = "the secret outside"
CALL = CallContext(
    run_id="r1",
    session_key="cli:direct",
    address=Address("cli", "direct"),
    sender_id="1",
    role=Role.MEMBER,
    key="r1:1:0",
)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Swaps two names at once, so that each of them always exists. A process of its own: a thread
# would hardly ever run within the few microseconds that matter.
EXCHANGE = """
import ctypes, sys
libc, here, swap = ctypes.CDLL(None), -100, 2
one, other = sys.argv[1].encode(), sys.argv[2].encode()
while True:
    assert libc.renameat2(here, one, here, other, swap) == 0
"""


def output_of(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


class Desk:
    """A workspace with its tools, and a file outside that must never be seen or changed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.outside = home / "config.toml"
        self.outside.write_text(SECRET)
        self.workspace = home / "workspace"
        self.roots = ConfinedFiles(self.workspace, hidden=[home])
        self.use(self.roots)

    def use(self, roots: ConfinedFiles) -> None:
        self.registry = ToolRegistry()
        for tool in file_tools(roots):
            self.registry.register(tool)

    async def call(self, name: str, **arguments: object) -> str:
        return await self.registry.execute(name, json.dumps(arguments), CALL)

    async def read(self, path: str, **arguments: object) -> str:
        return await self.call("read_file", path=path, **arguments)

    async def tried(self, path: str, seen: set[str]) -> bool:
        """Read and write once; what was read goes into `seen`. False if it was refused."""
        try:
            seen.add(await self.read(path))
            await self.call("write_file", path=path, content="harmless")
        except ToolError:
            return False
        return True

    async def refused(self, name: str, **arguments: object) -> str:
        with pytest.raises(ToolError) as caught:
            await self.call(name, **arguments)
        str(caught.value).encode()
        return str(caught.value)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    before = set(names_in(Path("/proc/self/fd")))
    yield desk
    assert set(names_in(Path("/proc/self/fd"))) <= before, "a descriptor was left open"
    assert desk.outside.read_text() == SECRET
    assert names_in(tmp_path) == ["config.toml", "workspace"]


def escapes(desk: Desk) -> list[str]:
    outside = str(desk.outside)
    (desk.workspace / "link").symlink_to(outside)
    (desk.workspace / "up").symlink_to("..")
    (desk.workspace / "folder").mkdir()
    (desk.workspace / "folder" / "far").symlink_to("../../config.toml")
    (desk.workspace / "chain").symlink_to("folder/far")
    (desk.workspace / "root").symlink_to("/")
    return [
        outside,
        "../config.toml",
        "folder/../../config.toml",
        f"{desk.workspace}/../config.toml",
        "link",
        "up/config.toml",
        "folder/far",
        "chain",
        f"root/{outside}",
        "/proc/self/environ",
        f"/proc/self/root{outside}",
    ]


async def test_no_way_to_read_leads_out_of_the_workspace(desk: Desk) -> None:
    for path in escapes(desk):
        assert "is outside the workspace" in await desk.refused("read_file", path=path)


async def test_no_way_to_write_leads_out_of_the_workspace(desk: Desk) -> None:
    for path in escapes(desk):
        assert "outside" in await desk.refused("write_file", path=path, content="x")
        assert "outside" in await desk.refused(
            "edit_file", path=path, old_text=SECRET, new_text="x"
        )
    (desk.workspace / "dangling").symlink_to("../new.txt")
    assert "outside" in await desk.refused("write_file", path="dangling", content="x")
    assert "outside" in await desk.refused("write_file", path="up/new/deep.txt", content="x")


async def test_no_way_to_list_leads_out_of_the_workspace(desk: Desk) -> None:
    for path in ["..", "/", str(desk.home), "up", "root", "folder/../.."]:
        escapes(desk) if path == ".." else None
        assert "outside" in await desk.refused("list_dir", path=path)


async def test_paths_inside_work_relative_absolute_and_through_links(desk: Desk) -> None:
    await desk.call("write_file", path="a/b/c.txt", content="here")
    (desk.workspace / "near").symlink_to("a/b")
    (desk.workspace / "absolute").symlink_to(desk.workspace / "a")
    (desk.workspace / "loop").symlink_to("loop")
    for path in [
        "a/b/c.txt",
        "./a//b/./c.txt",
        "a/../a/b/c.txt",
        f"{desk.workspace}/a/b/c.txt",
        "near/c.txt",
        "near/../b/c.txt",
        "absolute/b/c.txt",
    ]:
        assert await desk.read(path) == "here"
    assert "too many links" in await desk.refused("read_file", path="loop")
    await desk.call("write_file", path="near/c.txt", content="there")
    assert (desk.workspace / "near").is_symlink()
    assert await desk.read("a/b/c.txt") == "there"


@pytest.mark.process
async def test_a_folder_exchanged_for_a_link_in_a_race_never_leads_out(desk: Desk) -> None:
    # Nothing hidden: it is the walk alone that has to hold.
    desk.use(ConfinedFiles(desk.workspace))
    inside = desk.workspace / "folder"
    inside.mkdir()
    (inside / "config.toml").write_text("harmless")
    (desk.workspace / "trap").symlink_to("..")
    command = [sys.executable, "-c", EXCHANGE, str(inside), str(desk.workspace / "trap")]
    exchanging = await asyncio.create_subprocess_exec(*command)
    seen: set[str] = set()
    refused = False
    try:
        while not refused:
            refused = not await desk.tried("folder/config.toml", seen)
        for _ in range(1500):
            await desk.tried("folder/config.toml", seen)
    finally:
        exchanging.kill()
        await exchanging.wait()
    assert seen <= {"harmless"}


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["..", ".", "", "/", "folder", "up", "link", "root", "chain", "config.toml", "a", "\0"]
        ),
        max_size=8,
    ).map("/".join)
)
def test_no_string_leads_out_of_the_workspace(
    tmp_path_factory: pytest.TempPathFactory, path: str
) -> None:
    home = tmp_path_factory.getbasetemp() / "any-path"
    if not home.exists():
        home.mkdir()
        escapes(Desk(home))
    roots = ConfinedFiles(home / "workspace")
    for attempt in (path, f"{home}/workspace/{path}"):
        try:
            with roots.file(attempt) as (descriptor, _):
                assert SECRET not in os.pread(descriptor, 100, 0).decode("latin-1")
        except ToolError as error:
            str(error).encode()
        try:
            with roots.folder(attempt) as descriptor, os.scandir(descriptor) as entries:
                assert "workspace" not in {entry.name for entry in entries}
        except ToolError as error:
            str(error).encode()


async def test_what_is_no_regular_file_is_refused_by_its_kind(desk: Desk) -> None:
    os.mkfifo(desk.workspace / "pipe")
    (desk.workspace / "zero").symlink_to("/dev/zero")
    (desk.workspace / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(desk.workspace / "socket"))
        assert "is a pipe, not a file" in await desk.refused("read_file", path="pipe")
        assert "is a socket, not a file" in await desk.refused("read_file", path="socket")
    assert "is a folder, not a file" in await desk.refused("read_file", path="folder")
    assert "is a folder, not a file" in await desk.refused("read_file", path=".")
    assert "outside" in await desk.refused("read_file", path="zero")
    assert "is a pipe" in await desk.refused("write_file", path="pipe", content="x")
    assert "is a folder" in await desk.refused("write_file", path="", content="x")
    assert "is a pipe, not a folder" in await desk.refused("list_dir", path="pipe")
    assert "not a folder" in await desk.refused("read_file", path="pipe/x")


async def test_what_is_not_there_is_said_plainly(desk: Desk) -> None:
    assert "there is no such file" in await desk.refused("read_file", path="no.txt")
    assert "there is no such file" in await desk.refused("read_file", path="no/such.txt")
    assert "there is no such file" in await desk.refused("list_dir", path="no")
    for path in ["a\0b", "x" * 5000]:
        assert "cannot be a path" in await desk.refused("read_file", path=path)
    assert "too long" in await desk.refused("read_file", path="x" * 300)


def test_without_permission_it_says_so(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    roots = ConfinedFiles(workspace)
    (workspace / "closed").write_text("x")
    (workspace / "closed").chmod(0o400)
    if os.geteuid() != 0:
        with pytest.raises(ToolError, match="no permission"):
            roots.write("closed", b"y")
        return
    # Root may everything: become somebody else, in a process of its own.
    for folder in [workspace, *workspace.parents]:
        folder.chmod(folder.stat().st_mode | 0o055)
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from nanobot.plugins.common.files.confinement import ConfinedFiles\n"
        "from nanobot.errors import ToolError\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "roots = ConfinedFiles(Path(sys.argv[1]))\n"
        "for act in (lambda: roots.write('closed', b'y'), lambda: roots.write('new', b'y'),\n"
        "            lambda: roots.file('closed').__enter__()):\n"
        "    try: act()\n"
        "    except ToolError as error: print(error)\n"
    )
    output = output_of(script, str(workspace))
    assert output.count("no permission") == 3


async def test_a_file_comes_back_as_it_was_written(desk: Desk) -> None:
    text = "Grüße, 世界 🌍\n\ttab\n"
    assert await desk.call("write_file", path="a.txt", content=text) == (
        f'Created "a.txt": {len(text.encode())} bytes.'
    )
    assert (desk.workspace / "a.txt").read_text() == text
    assert await desk.read("a.txt") == text
    assert "Replaced" in await desk.call("write_file", path="a.txt", content="")
    assert await desk.read("a.txt") == "[the file is empty]"


async def test_lines_are_paged_from_one(desk: Desk) -> None:
    (desk.workspace / "n").write_text("".join(f"line {n}\n" for n in range(1, 3001)))
    page = await desk.read("n", offset=10, limit=2)
    assert page == "line 10\nline 11\n\n[lines 10 to 11; the rest begins at offset=12]"
    assert "[lines 2999 to 3000, the end of the file]" in await desk.read("n", offset=2999)
    assert "the file has 3000 lines" in await desk.refused("read_file", path="n", offset=3002)


async def test_following_the_pages_shows_every_line_once(desk: Desk) -> None:
    lines = [f"{n} " + "x" * (n % 97) for n in range(1, 2501)]
    (desk.workspace / "n").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    offset = 1
    while offset:
        page = await desk.read("n", offset=offset)
        assert "left out here" not in page
        body, _, note = page.rpartition("\n\n[")
        seen += body.split("\n")
        offset = int(note.partition("offset=")[2].rstrip("]") or 0)
    assert seen == lines


async def test_a_long_line_is_cut_and_the_next_one_still_comes(desk: Desk) -> None:
    (desk.workspace / "n").write_text("a" * 5000 + "\nnext\n")
    page = await desk.read("n")
    assert page == "a" * 2000 + " [... 3,000 more characters]\nnext\n"


async def test_a_huge_file_costs_only_a_page(desk: Desk) -> None:
    with (desk.workspace / "huge.txt").open("wb") as file:
        file.write(b"first\nsecond\n")
        file.truncate(4 << 30)
    assert "binary data, 4,294,967,296 bytes" in await desk.refused("read_file", path="huge.txt")
    with (desk.workspace / "log.txt").open("wb") as file:
        file.write(b"line of a log\n" * 1000)
        file.truncate(4 << 30)
    assert (await desk.read("log.txt", limit=1)).startswith("line of a log")
    assert "the first 64 MB" in await desk.refused("read_file", path="log.txt", offset=2000)
    assert "can be edited" in await desk.refused(
        "edit_file", path="log.txt", old_text="a", new_text="b"
    )


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xef\xbb\xbfhi\n", "hi\n\n[UTF-8 text with a byte order mark]"),
        ("\ufeffhé\n".encode("utf-16-le"), "hé\n\n[UTF-16-LE text with a byte order mark]"),
        ("\ufeffhé\n".encode("utf-16-be"), "hé\n\n[UTF-16-BE text with a byte order mark]"),
        ("\ufeffhé\n".encode("utf-32-le"), "hé\n\n[UTF-32-LE text with a byte order mark]"),
        ("café\n".encode("latin-1"), "café\n\n[not UTF-8: shown as Latin-1]"),
        (b"\xed\xa0\x80\n", "\xed\xa0\x80\n\n[not UTF-8: shown as Latin-1]"),
        (b"a\r\nb\r\n", "a\nb\n\n[line ends are CRLF]"),
        (b"no end", "no end"),
    ],
)
async def test_odd_encodings_are_read_and_named(desk: Desk, data: bytes, shown: str) -> None:
    (desk.workspace / "odd").write_bytes(data)
    text = await desk.read("odd")
    assert text.replace("\n\n\n", "\n\n") == shown


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document that is encrypted"),
        (b"SQLite format 3\0", "a SQLite database"),
        (b"\x01\x02\x03\x04", "binary data"),
        (b"abc\0def", "binary data, 7 bytes"),
    ],
)
async def test_what_is_no_text_is_refused_with_kind_and_size(
    desk: Desk, data: bytes, kind: str
) -> None:
    (desk.workspace / "odd").write_bytes(data)
    assert kind in await desk.refused("read_file", path="odd")
    assert kind in await desk.refused("edit_file", path="odd", old_text="a", new_text="b")


async def test_writing_keeps_the_mode_and_leaves_nothing_behind(desk: Desk) -> None:
    script = desk.workspace / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o4751)
    await desk.call("write_file", path="run.sh", content="#!/bin/sh\ntrue\n")
    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert names_in(desk.workspace) == ["run.sh"]


async def test_a_reader_sees_the_old_or_the_new_content_and_nothing_between(desk: Desk) -> None:
    path = desk.workspace / "a.txt"
    await desk.call("write_file", path="a.txt", content="old")
    with path.open() as before:
        await desk.call("write_file", path="a.txt", content="new")
        assert before.read() == "old"
    assert path.read_text() == "new"


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    roots = ConfinedFiles(workspace)
    roots.write("a.txt", b"old")
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from nanobot.plugins.common.files.confinement import ConfinedFiles\n"
        "from nanobot.errors import ToolError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: ConfinedFiles(Path(sys.argv[1])).write('a.txt', b'x' * 5000)\n"
        "except ToolError as error: print(error)\n"
    )
    output = output_of(script, str(workspace))
    assert "would be too large" in output
    assert names_in(workspace) == ["a.txt"]
    assert (workspace / "a.txt").read_bytes() == b"old"


async def test_an_edit_replaces_the_one_passage(desk: Desk) -> None:
    (desk.workspace / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    text = await desk.call("edit_file", path="a.py", old_text="two = 2", new_text="two = 22")
    assert text == 'Edited "a.py" at line 2.'
    assert (desk.workspace / "a.py").read_text() == "one = 1\ntwo = 22\nthree = 3\n"


async def test_an_edit_that_matches_nothing_shows_the_nearest_lines(desk: Desk) -> None:
    (desk.workspace / "a.py").write_text("def one():\n    return 1\n\ndef two():\n    return 2\n")
    text = await desk.refused(
        "edit_file", path="a.py", old_text="def one(x):\n  return 1", new_text="x"
    )
    assert "1: def one():" in text
    assert "to the last space" in text
    text = await desk.refused("edit_file", path="a.py", old_text="zebra", new_text="x")
    assert "No line is like it" in text


async def test_an_edit_that_matches_twice_says_how_often(desk: Desk) -> None:
    (desk.workspace / "a").write_text("aaa x\naaa y\n")
    text = await desk.refused("edit_file", path="a", old_text="aa", new_text="b")
    assert "4 times" in text
    assert "more of the lines around it" in text
    assert (desk.workspace / "a").read_text() == "aaa x\naaa y\n"


async def test_an_edit_that_cannot_mean_anything_is_refused(desk: Desk) -> None:
    (desk.workspace / "a").write_text("a")
    assert "empty" in await desk.refused("edit_file", path="a", old_text="", new_text="b")
    assert "the same" in await desk.refused("edit_file", path="a", old_text="a", new_text="a")
    assert "no such file" in await desk.refused("edit_file", path="b", old_text="a", new_text="b")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nX\r\nY\r\n"),
        (b"\xef\xbb\xbfa\nb\nc\n", b"\xef\xbb\xbfa\nX\nY\n"),
        ("\ufeffa\r\nb\r\nc\r\n".encode("utf-16-le"), "\ufeffa\r\nX\r\nY\r\n".encode("utf-16-le")),
        (b"\xe9\nb\nc\n", b"\xe9\nX\nY\n"),
        (b"a\rb\rc\r", b"a\rX\rY\r"),
        (b"a\nb\nc\nd\r\n", b"a\nX\nY\nd\r\n"),
    ],
)
async def test_an_edit_keeps_line_ends_mark_and_encoding(
    desk: Desk, before: bytes, after: bytes
) -> None:
    (desk.workspace / "a").write_bytes(before)
    await desk.call("edit_file", path="a", old_text="b\nc\n", new_text="X\nY\n")
    assert (desk.workspace / "a").read_bytes() == after


async def test_an_edit_that_the_encoding_cannot_hold_changes_nothing(desk: Desk) -> None:
    (desk.workspace / "a").write_bytes(b"\xe9 b\n")
    text = await desk.refused("edit_file", path="a", old_text="b", new_text="世")
    assert "Latin-1 text, which cannot hold" in text
    assert (desk.workspace / "a").read_bytes() == b"\xe9 b\n"


async def test_a_listing_is_sorted_with_kind_and_size(desk: Desk) -> None:
    (desk.workspace / "b.txt").write_text("12345")
    (desk.workspace / "a").mkdir()
    (desk.workspace / "c").symlink_to("b.txt")
    os.mkfifo(desk.workspace / "d")
    (desk.workspace / "e\n\udcff").write_text("")
    assert await desk.call("list_dir", path=".") == (
        'a/  folder\nb.txt  file, 5 bytes\nc  link to "b.txt"\nd  special file\n'
        "e\\n\ufffd  file, 0 bytes"
    )
    assert await desk.call("list_dir", path="a") == "[the folder is empty]"


async def test_a_large_folder_is_listed_in_part_and_says_so(desk: Desk) -> None:
    for n in range(MAX_ENTRIES + 7):
        (desk.workspace / f"{n:04}").touch()
    desk.registry.unregister("list_dir")
    desk.registry.register(file_tools(desk.roots, 100_000)[3])
    desk.registry._max_result_chars = 100_000
    lines = (await desk.call("list_dir", path="")).split("\n")
    assert lines[:2] == ["0000  file, 0 bytes", "0001  file, 0 bytes"]
    assert lines[MAX_ENTRIES:] == ["[7 more of 507 entries are not shown]"]


async def test_what_is_hidden_is_out_of_reach_even_inside_the_workspace(tmp_path: Path) -> None:
    home = tmp_path / "project" / ".nanobot"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(SECRET)
    (tmp_path / "project" / "twin").hardlink_to(home / "config.toml")
    (tmp_path / "project" / "way").symlink_to(".nanobot")
    roots = ConfinedFiles(tmp_path / "project", hidden=[home, home / "config.toml"])
    for path in [".nanobot/config.toml", "way/config.toml", "twin", ".nanobot/new/x"]:
        with pytest.raises(ToolDenied, match="not for tools"), roots.file(path):
            pass
        with pytest.raises(ToolDenied, match="not for tools"):
            roots.write(path, b"x")
    with pytest.raises(ToolDenied), roots.folder(".nanobot"):
        pass
    assert not (home / "new").exists()


async def test_everywhere_reaches_the_file_system_but_not_what_is_hidden(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "config.toml").write_text(SECRET)
    roots = ConfinedFiles(desk.workspace, hidden=[tmp_path], everywhere=True)
    roots.write("a.txt", b"mine")
    for path in ["a.txt", str(desk.workspace / "a.txt"), "/etc/passwd", "../workspace/a.txt"]:
        with roots.file(path) as (descriptor, _):
            assert os.pread(descriptor, 10, 0)
    for path in [str(desk.outside), "../config.toml", "/proc/self/environ", "/proc/1/cmdline"]:
        with pytest.raises(ToolDenied), roots.file(path):
            pass


def test_a_workspace_that_cannot_be_one_is_a_wrong_configuration(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigError, match=f"workspace: {file}.*not a folder"):
        ConfinedFiles(file)
    with pytest.raises(ConfigError, match="workspace"):
        ConfinedFiles(file / "below")
    with pytest.raises(ConfigError, match="a separate folder"):
        ConfinedFiles(tmp_path, hidden=[tmp_path])
    with pytest.raises(ConfigError, match="a separate folder"):
        ConfinedFiles(Path("/"))


def test_the_tools_are_for_owners_and_members_and_declare_what_they_leave_behind(
    tmp_path: Path,
) -> None:
    registry = ToolRegistry()
    for tool in file_tools(ConfinedFiles(tmp_path / "w")):
        registry.register(tool)
    names = ["edit_file", "list_dir", "read_file", "search_files", "write_file"]
    assert [spec.name for spec in registry.specs(Role.MEMBER)] == names
    assert registry.specs(Role.GUEST) == ()
    effects = [tool.effect for tool, _, _ in registry.listed()]
    assert effects == [Effect.WORLD, Effect.NONE, Effect.NONE, Effect.NONE, Effect.WORLD]
