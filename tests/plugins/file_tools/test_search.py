"""search_files, with ripgrep where it is installed and without; and list_dir with a glob."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import ToolArgumentsError, ToolError
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.globs import Glob
from nanobot.plugins.file_tools.search import MAX_MATCHES, search_files_tool
from nanobot.plugins.file_tools.tools import file_tools
from nanobot.tools.registry import ToolRegistry
from tests.tools.browsing import CALL

RG = shutil.which("rg") or ""


class Desk:
    """A workspace, and beside it what must not be found."""

    def __init__(self, home: Path, rg: str = "", seconds: float = 20.0) -> None:
        self.workspace = home / "workspace"
        roots = ConfinedFiles(self.workspace, hidden=[home])
        self.use(roots, rg, seconds)
        self.put("../config.toml", "needle outside")

    def use(self, roots: ConfinedFiles, rg: str = "", seconds: float = 20.0) -> None:
        self.registry = ToolRegistry()
        self.registry.register(search_files_tool(roots, rg=rg, seconds=seconds))
        for tool in file_tools(roots):
            if tool.name != "search_files":
                self.registry.register(tool)

    def put(self, name: str, text: str | bytes) -> None:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    async def call(self, name: str, **arguments: object) -> str:
        return await self.registry.execute(name, json.dumps(arguments), CALL)

    async def search(self, pattern: str, **more: object) -> str:
        return await self.call("search_files", pattern=pattern, **more)


@pytest.fixture(
    params=[
        "",
        pytest.param(RG, marks=pytest.mark.skipif(not RG, reason="ripgrep is not installed")),
    ],
    ids=["python", "rg"],
)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return Desk(tmp_path, request.param)


async def test_each_matching_line_comes_with_its_place(desk: Desk) -> None:
    desk.put("b/two.txt", "one\r\na needle here\r\n")
    desk.put("a.txt", "needle\n\nanother Needle, no: needle:3\n")
    assert await desk.search("needle") == (
        "a.txt:1: needle\na.txt:3: another Needle, no: needle:3\nb/two.txt:2: a needle here"
    )
    assert await desk.search("needle$", path="b/../a.txt") == "b/../a.txt:1: needle"
    assert await desk.search("^a n.+e", path="b") == "b/two.txt:2: a needle here"
    assert await desk.search("NEEDLE h", ignore_case=True) == "b/two.txt:2: a needle here"
    assert await desk.search("nothing like it") == "[nothing found]"


async def test_plain_text_may_hold_anything(desk: Desk) -> None:
    desk.put("a", "f(x) = [1]+\n--files\n-e\n")
    assert await desk.search("f(x) = [1]+", literal=True) == "a:1: f(x) = [1]+"
    assert await desk.search("--files") == "a:2: --files"
    assert await desk.search("-e", literal=True) == "a:3: -e"


async def test_only_files_of_the_glob_are_searched(desk: Desk) -> None:
    for name in ("x.py", "y.md", "deep/er/z.py"):
        desk.put(name, "needle")
    assert await desk.search("needle", glob="*.py") == "deep/er/z.py:1: needle\nx.py:1: needle"
    assert await desk.search("needle", glob="deep/**") == "deep/er/z.py:1: needle"


async def test_what_is_no_text_hidden_or_elsewhere_is_left_out(desk: Desk) -> None:
    desk.put(".git/config", "needle")
    desk.put("sub/.git/config", "needle")
    desk.put("binary", b"needle\0needle")
    desk.put(".gitignore", "seen\n")
    desk.put("seen", "needle")
    desk.put(".hidden", "needle")
    (desk.workspace / "link").symlink_to("../config.toml")
    (desk.workspace / "up").symlink_to("..")
    os.mkfifo(desk.workspace / "pipe")
    with (desk.workspace / "huge").open("wb") as file:
        file.write(b"needle\n")
        file.truncate(1 << 30)
    assert await desk.search("needle") == ".hidden:1: needle\nseen:1: needle"


async def test_it_searches_nowhere_but_in_the_workspace(desk: Desk) -> None:
    (desk.workspace / "up").symlink_to("..")
    for path in ("..", "/", "../config.toml", "up", "/etc"):
        with pytest.raises(ToolError, match="outside"):
            await desk.search("needle", path=path)
    with pytest.raises(ToolError, match="no such file"):
        await desk.search("needle", path="nowhere")


@pytest.mark.process
async def test_a_pattern_that_is_none_is_said_to_be_none(desk: Desk) -> None:
    desk.put("a", "x")
    for pattern in ("(", "[", "*a", "a{99999999999}", "(?P<"):
        with pytest.raises(ToolArgumentsError, match="pattern: "):
            await desk.search(pattern)
    for pattern in ("a\nb", "a\0b"):
        with pytest.raises(ToolArgumentsError, match="within one line"):
            await desk.search(pattern)
    with pytest.raises(ToolError, match="cannot be a glob"):
        await desk.search("a", glob="\0")


async def test_there_are_never_more_matches_than_can_be_shown(desk: Desk) -> None:
    desk.put("many", "needle\n" * (MAX_MATCHES + 50))
    result = await desk.search("needle")
    assert result.count("many:") == MAX_MATCHES
    assert result.endswith(f"[the first {MAX_MATCHES} matches; there are more: be more exact]")
    desk.put("many", f"needle {'x' * 250}\n" * 200)
    result = await desk.search("needle")
    assert "there are more" in result
    assert len(result) < 10_000
    desk.put("many", f"{'x' * 100_000}needle{'y' * 100_000}\n" * 2)
    assert len(await desk.search("needle")) < 1_500


async def test_odd_names_and_encodings_are_shown_safely(desk: Desk) -> None:
    desk.put("new\nline", "needle")
    (desk.workspace / os.fsdecode(b"bad\xff")).write_text("needle")
    desk.put("wide", "\ufeffa needle ü".encode("utf-16"))
    result = await desk.search("needle")
    assert "new\\nline:1: needle" in result
    assert "bad\ufffd:1: needle" in result
    assert "wide:1: " in result


@pytest.mark.process
async def test_a_pattern_that_takes_for_ever_is_stopped(tmp_path: Path) -> None:
    desk = Desk(tmp_path, seconds=1.0)
    desk.put("a", "needle")
    desk.put("b", "a" * 40 + "!\n")
    result = await desk.search("(a+)+$|needle")
    assert result.startswith("a:1: needle\n\n[stopped after 1 s")


async def test_ripgrep_is_not_asked_where_it_could_see_what_is_hidden(tmp_path: Path) -> None:
    """A home within the workspace: only the search of our own knows what to leave out."""
    workspace = tmp_path / "workspace"
    hidden = workspace / "home"
    hidden.mkdir(parents=True)
    (hidden / "keys").write_text("needle")
    (workspace / "a").write_text("needle")
    spy = tmp_path / "rg"
    spy.write_text("#!/bin/sh\necho asked >&2; exit 2\n")
    spy.chmod(0o755)
    desk = Desk(tmp_path)
    desk.use(ConfinedFiles(workspace, hidden=[hidden]), str(spy))
    assert await desk.search("needle") == "a:1: needle"
    desk.use(ConfinedFiles(workspace), str(spy))
    with pytest.raises(ToolError, match="asked"):
        await desk.search("needle")


async def test_ripgrep_gets_no_variable_and_no_option_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", "/evil")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    spy = tmp_path / "rg"
    spy.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "for arg in sys.argv[1:]: print(f'args\\0001:{arg}')\n"
        "print('env\\0001:' + ' '.join(os.environ))\n"
        "print('cwd\\0001:' + os.getcwd())\n"
    )
    spy.chmod(0o755)
    desk = Desk(tmp_path, str(spy))
    result = await desk.search("--pre=evil")
    given = [line.partition(": ")[2] for line in result.splitlines() if line.startswith("args:")]
    assert given[-4:] == ["--regexp", "--pre=evil", "--", "."]
    assert "--no-config" in given
    assert "RIPGREP" not in result
    assert "OPENAI" not in result
    assert f"cwd:1: {desk.workspace}" in result


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "b.py", True),
        ("*.py", "b.pyc", False),
        ("/*.py", "a/b.py", False),
        ("docs/**/*.md", "docs/x.md", True),
        ("docs/**/*.md", "docs/a/b/x.md", True),
        ("docs/*.md", "docs/a/x.md", False),
        ("docs/**", "docs", False),
        ("docs/**", "docs/a/b", True),
        ("*.{png,jp*g}", "x/a.jpeg", True),
        ("{a,b{c,d}}/x", "bd/x", True),
        ("[!a]*", "b", True),
        ("[!a]*", "a", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("**/**/**/x", "x", True),
        ("*" * 400, "a" * 200 + "!", True),
        ("*a" * 200 + "b", "a" * 250, False),
        ("**/" * 100 + "b", "/".join("a" * 500), False),
    ],
)
def test_a_glob_means_what_people_mean_by_it(glob: str, path: str, fits: bool) -> None:
    assert Glob(glob).matches(path) is fits


@given(st.text("*?[]{}!,/.ab\\", max_size=40), st.text("ab/.", min_size=1, max_size=40))
def test_no_glob_breaks_or_hangs(glob: str, path: str) -> None:
    try:
        Glob(glob).matches(path)
    except ToolError as error:
        str(error).encode()


async def test_a_folder_is_listed_by_a_glob_to_any_depth(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a.md", "x")
    desk.put("d/e/b.md", "xy")
    desk.put("d/c.txt", "x")
    desk.put("d/.git/x.md", "x")
    (desk.workspace / "d/link.md").symlink_to("../../config.toml")
    assert await desk.call("list_dir", path=".", glob="*.md") == (
        'a.md  file, 1 bytes\nd/e/b.md  file, 2 bytes\nd/link.md  link to "../../config.toml"'
    )
    assert await desk.call("list_dir", path="d", glob="e") == "e/  folder"
    assert "is named like" in await desk.call("list_dir", path="d", glob="*.zip")
    with pytest.raises(ToolError, match="means more than 64 patterns"):
        await desk.call("list_dir", path=".", glob="{a,b}" * 10)


async def test_a_glob_finds_nothing_that_is_hidden(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "home").mkdir(parents=True)
    (workspace / "home" / "keys.md").write_text("x")
    desk = Desk(tmp_path)
    desk.use(ConfinedFiles(workspace, hidden=[workspace / "home"]))
    assert "is named like" in await desk.call("list_dir", path=".", glob="*.md")
