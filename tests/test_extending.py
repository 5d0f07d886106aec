"""Every block of code on the page about single parts of packages does what the page says. The
plugin of the page about extending is tried in tests/process/test_one_file_plugin.py."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nanobot.channels.loading import open_channel
from nanobot.config import loader as config
from nanobot.messages import Address
from nanobot.plugins.common.runs.run_type_names import RunType
from nanobot.plugins.common.runs.run_types import installed
from nanobot.plugins.jobs.packages import opened
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.setup.doctor.plugins import broken
from nanobot.plugins.skills.skills import Skills
from nanobot.ports import Channel, OutboundPart
from nanobot.providers.base import ChatMessage, ModelRequest
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.entry_points import Plugins
from nanobot.testing.channels import CHECKS, Check
from nanobot.testing.machine import ManualClock
from nanobot.tools.plugins import register_installed
from nanobot.tools.registry import ToolRegistry
from tests.plugins.mcp.conftest import working

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "single-parts.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for written_in, text in BLOCK.findall(PAGE) if written_in == language]


def files() -> dict[str, str]:
    """The modules, by the names that stand before them."""
    by_name, before = {}, 0
    for block in BLOCK.finditer(PAGE):
        named = re.findall(r"`([\w/]+\.py)`", PAGE[before : block.start()])
        if block[1] == "python" and "CHECKS" not in block[2]:
            by_name[named[-1]] = block[2]
        before = block.end()
    return by_name


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package of the page, as if it were installed."""
    folder = tmp_path / "package"
    (folder / "birds").mkdir(parents=True)
    for name, text in files().items():
        (folder / name).write_text(text)
    project = tomllib.loads(blocks("toml")[0])["project"]
    info = folder / f"nanobot_birds-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    points = [
        f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in them.items())
        for group, them in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(points))
    monkeypatch.syspath_prepend(str(folder))
    for name in [module for module in sys.modules if module.partition(".")[0] == "birds"]:
        monkeypatch.delitem(sys.modules, name)
    importlib.invalidate_caches()
    return folder


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) < 400


def test_every_block_is_known_here() -> None:
    assert {language for language, _ in BLOCK.findall(PAGE)} == {"python", "toml", "markdown"}
    tests = [text for text in blocks("python") if "CHECKS" in text]
    assert len(files()) + len(tests) == len(blocks("python"))
    assert set(files()) == {
        *(f"birds/{name}.py" for name in ("dice", "notes", "countdown", "letterbox", "parrot")),
        "timetable.py",
    }


async def test_all_that_the_package_adds_is_found_and_opened_as_configured(
    package: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    agent = [text for text in blocks("toml")[1:] if "[agent]" in text]
    rest = [text for text in blocks("toml")[1:] if "[agent]" not in text]
    loaded = []
    for text in agent:  # both have a table of that name
        (home / "config.toml").write_text("\n".join([text, *rest]))
        loaded.append(config.load({"NANOBOT_HOME": str(home)}))
        assert loaded[-1].warnings == ()
    last = loaded[-1]
    plugins, tools = Plugins(), ToolRegistry()
    assert [entry for entry in broken(plugins) if entry.package == "nanobot-birds"] == []
    register_installed(tools, plugins)
    listed = {tool.name: source for tool, _, source in tools.listed()}
    assert listed["throw_dice"] == "plugin nanobot-birds"
    assert "countdown" in [kind.name for kind in installed(plugins, RunType.__args__)]  # type: ignore[attr-defined]
    open_channel("notes", last.channels["notes"], plugins)
    assert set(opened(last.tables["triggers"], plugins)) == {"letterbox"}
    registry = ProviderRegistry(last.agent.model, last.providers, {}, home, ManualClock())
    provider, profile = await registry.pick()
    request = ModelRequest(model="polly", messages=(ChatMessage(role="user", content="Hi"),))
    assert (await provider.chat(request)).text == "(deep) Hi"
    assert profile.label == "pet/polly"


@pytest.mark.process  # it runs them as a command
def test_the_tests_of_the_page_pass(package: Path) -> None:
    tests = [text for text in blocks("python") if "CHECKS" in text]
    for number, text in enumerate(tests):
        (package / f"test_{number}.py").write_text(text)
    (package / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    path = os.pathsep.join([str(package), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(package)],
        capture_output=True,
        text=True,
        check=False,
        cwd=package,
        env={"PYTHONPATH": path, "PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d\d passed", done.stdout)


class Desk:
    """Where notes are left, as the checks of channels want it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._said = 0

    def channel(self) -> Channel:
        notes = importlib.import_module("birds.notes")
        opened_channel: Channel = notes.open_channel("checked", {"folder": str(self._folder)})
        return opened_channel

    async def say(self, text: str) -> None:
        note = self._folder / "ann.in"
        while note.exists():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
        self._said += 1
        (self._folder / "new").write_text(text)
        (self._folder / "new").rename(note)

    async def again(self) -> None:
        """What was not taken still lies there."""

    async def disturb(self) -> None:
        (self._folder / "bob.in").write_bytes(b"\xff\xfe\x00")
        (self._folder / "carl.odd").write_text("not for the channel")

    def acknowledged(self) -> int:
        return self._said - (self._folder / "ann.in").exists()

    def shown(self) -> list[str]:
        answers = self._folder / "ann.out"
        return answers.read_text().splitlines() if answers.exists() else []

    def fits(self, part: OutboundPart) -> bool:
        return bool(part.text)

    def refuse(self, chat: Address) -> Address:
        return Address(chat.channel, "../ann")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_channel_of_the_page_keeps_what_the_port_promises(
    package: Path, tmp_path: Path, check: Check
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    await check(Desk(folder))


def test_the_skill_of_the_page_is_ready(tmp_path: Path) -> None:
    (page,) = blocks("markdown")
    folder = tmp_path / "skills" / "tea"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(page)
    (tea,) = (skill for skill in Skills(tmp_path, {}).all() if skill.source == "workspace")
    assert (tea.name, tea.state) == ("tea", "ready")


@pytest.mark.process
async def test_the_mcp_server_of_the_page_answers(package: Path, tmp_path: Path) -> None:
    (table,) = (tomllib.loads(text) for text in blocks("toml") if "[mcp." in text)
    settings = table["mcp"]["timetable"]
    assert settings == {"command": "python", "args": ["/srv/timetable.py"]}
    server = McpSettings(command=sys.executable, args=(str(package / "timetable.py"),))
    async with working(tmp_path, timetable=server) as bench:
        text = await bench.call("mcp__timetable__next_train", '{"station": "Bern"}')
        assert "leaves Bern at 12:04" in text
        (tool,) = (tool for tool, _, _ in bench.registry.listed() if "train" in tool.name)
        assert tool.taints is True
