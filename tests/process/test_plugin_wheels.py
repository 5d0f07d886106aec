"""Two packages, built as wheels and installed: one adds one of each kind, and is used in a chat;
one does all wrong, and is named, left out, and harms nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "packages"
COMMAND = (sys.executable, "-c", "from nanobot.cli import main; main()")
PATIENCE = 30.0
CONFIG = """
[agent]
model = "pet/polly"
triage = "decision"
remember = "off"
recall = "off"
[agent.decision]
allowed_run_types = ["count_birds"]
[providers.pet]
client = "parrot"
seed = "millet"
[channels.nest]
folder = "{folder}"
owners = ["ann"]
[triggers.window]
file = "{folder}/window"
to = "nest:ann"
"""
BROKEN = """
[channels.grave]
[triggers.storm]
[triggers.hole]
[providers.mute]
client = "mute"
"""


def built(source: str, folder: Path) -> Path:
    """Its wheel, made without the network from a copy of its source."""
    copy = folder / source
    shutil.copytree(SOURCES / source, copy)
    pip(
        *("wheel", "--no-build-isolation", "--no-deps", "--no-index"),
        *("--wheel-dir", str(folder / "wheels"), str(copy)),
    )
    (wheel,) = (folder / "wheels").glob(f"*{source}*.whl")
    return wheel


def pip(*arguments: str) -> None:
    subprocess.run(
        (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments),
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Where the good package is, and where the broken one is."""
    folder = tmp_path_factory.mktemp("wheels")
    places = []
    for source in ("birds", "broken"):
        place = folder / f"site-{source}"
        wheel = str(built(source, folder))
        pip("install", "--no-deps", "--no-index", "--target", str(place), wheel)
        places.append(place)
    good, broken = places
    return good, broken


class Home:
    """A home whose processes find these packages."""

    def __init__(self, folder: Path, *packages: Path) -> None:
        self.folder = folder / "notes"
        self.folder.mkdir()
        self._home = folder / "home"
        self._home.mkdir()
        self._packages = [str(package) for package in packages]
        self.log = folder / "log"

    def configure(self, more: str = "") -> None:
        text = CONFIG.format(folder=self.folder) + more
        (self._home / "config.toml").write_text(text)

    @property
    def environ(self) -> dict[str, str]:
        path = [*self._packages, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        kept = {"PATH": os.environ["PATH"], "TZ": "UTC", "NANOBOT_HOME": str(self._home)}
        return kept | {"PYTHONPATH": os.pathsep.join(filter(None, path))}

    @asynccontextmanager
    async def gateway(self) -> AsyncIterator[str]:
        with self.log.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(*COMMAND, "gateway"),
                env=self.environ,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(PATIENCE):
                ready = (await process.stdout.readline()).decode()
            assert ready.startswith("ready "), self.log.read_text()
            yield ready
            process.terminate()
            async with asyncio.timeout(PATIENCE):
                assert await process.wait() == 0, self.log.read_text()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def run(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *(*COMMAND, *arguments),
            env=self.environ,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            out, _ = await process.communicate()
        return out.decode()

    async def say(self, text: str, *wanted: str) -> None:
        """Leave a note, and wait until the answers have all that is wanted."""
        waiting = self.folder / "ann.note"
        waiting.write_text(text)
        waiting.rename(self.folder / "ann.in")
        await self.told(*wanted)

    async def told(self, *wanted: str) -> None:
        answers = self.folder / "ann.out"

        def missing() -> list[str]:
            text = answers.read_text() if answers.exists() else ""
            return [line for line in wanted if line not in text]

        try:
            async with asyncio.timeout(PATIENCE):
                while missing():  # noqa: ASYNC110 - other processes set no event
                    await asyncio.sleep(0.02)
        except TimeoutError:
            text = answers.read_text() if answers.exists() else "nothing"
            pytest.fail(f"{missing()} is not in {text!r}\n{self.log.read_text()[-4000:]}")


async def test_what_a_package_adds_is_used_in_a_chat(
    tmp_path: Path, installed: tuple[Path, Path]
) -> None:
    home = Home(tmp_path, installed[0])
    home.configure()
    async with home.gateway() as ready:
        assert "channels=nest:up" in ready
        await home.say("say:hello", "hello (polly for millet)")
        await home.say('tool:chirp:{"bird": "wren"}', "the wren chirps for owner")
        await home.say('tool:chirp:{"bird": "ostrich"}', "chirp failed inside (LookupError)")
        wanted = {
            "decision": "run",
            "reply": None,
            "run": {
                "type": "count_birds",
                "title": "Birds in the yard",
                "conversation_id": None,
                "input": {"birds": ["wren", "owl"]},
            },
            "confidence": 1.0,
            "reason": "long",
        }
        wanted["run"] |= {"conversation_id": "nest:ann"}  # type: ignore[operator]
        await home.say(f"decide:{json.dumps(wanted)}", "Birds in the yard", "2 birds were counted")
        (home.folder / "window").write_text("heron\n")
        await home.told("a heron at the window (polly for millet)")
        await home.say("say:fly", "parrots do not fly here")
        await home.say("say:still there", "still there (polly for millet)")
        listed = json.loads(await home.run("tools", "list", "--json"))
    (chirp,) = (tool for tool in listed if tool["name"] == "chirp")
    assert chirp["source"] == "plugin nanobot-birds"
    assert (chirp["effect"], chirp["roles"]) == ("none", ["owner", "member"])
    assert {tool["source"] for tool in listed} == {"built-in", "plugin nanobot-birds"}
    assert "left out" not in await home.run("doctor")


async def test_what_is_broken_is_named_and_left_out_and_the_gateway_starts(
    tmp_path: Path, installed: tuple[Path, Path]
) -> None:
    home = Home(tmp_path, *installed)
    home.configure(BROKEN)
    left_out = {
        ("nanobot.tools", "absent"): "ModuleNotFoundError",
        ("nanobot.tools", "missing"): "AttributeError",
        ("nanobot.tools", "number"): "it gives a int",
        ("nanobot.tools", "posing"): "the name exec is taken",
        ("nanobot.tools", "taken"): "a tool named chirp is registered already",
        ("nanobot.tools", "leaving"): "sys.exit('I am out of here')",
        ("nanobot.run_types", "nameless"): "it gives a int",
        ("nanobot.channels", "nest"): "the name is taken by nanobot-birds",
        ("nanobot.triggers", "hole"): "sys.exit('I am out of here')",
    }
    async with home.gateway() as ready:
        assert "nest:up" in ready
        assert "grave:failed" in ready
        await home.say("say:hello", "hello (polly for millet)")
        await home.say('tool:chirp:{"bird": "wren"}', "the wren chirps for owner")
        await home.say("tool:rude:{}", "rude failed inside (WantedToExit)")
        await home.say("/model mute/any", "ModuleNotFoundError")
        log = home.log.read_text()
        assert "trigger trigger:storm" in log
        assert "lightning" in log
        (home.folder / "window").write_text("heron\n")
        await home.told("a heron at the window (polly for millet)")
    opened = {("nanobot.channels", "grave"): "ZeroDivisionError: down we go"}
    lines = home.log.read_text().splitlines()
    for (group, name), why in (left_out | opened).items():
        named = f"{name} of the package nanobot-broken-birds ({group}) is left out: "
        assert any(named in line and why in line for line in lines), (name, why)
    examined = json.loads(await home.run("doctor", "--json"))
    texts = [line["text"] for line in examined if line["about"] in ("plugins", "grave")]
    left_out[("nanobot.providers", "mute")] = "ModuleNotFoundError"
    for (group, name), why in (left_out | opened).items():
        named = f"{name} of the package nanobot-broken-birds ({group}) is left out: "
        assert any(line.startswith(named) and why in line for line in texts), (name, texts)
    assert len(texts) == len(left_out | opened)
