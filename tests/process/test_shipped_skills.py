"""The shipped skills, each followed once by a scripted model with the tools of a real gateway."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest

from nanobot.agent.prompt import COMMON_FILES, PRIVATE_FILES, TOOL_FILES
from nanobot.config.settings.agent import AgentSettings
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.workspace import assets
from tests.doubles.web_server import WebServer
from tests.process.harness import PATIENCE, World

SHIPPED = sorted(file.parent.name for file in assets.skills().glob("*/SKILL.md"))
# What a reader of the page on tmux types: a name for each command.
SCREEN = "tmux -S .tmux/main capture-pane -t work -p -S -200"


def page(skill: str) -> str:
    return (assets.skills() / skill / "SKILL.md").read_text("utf-8")


def commands(skill: str, program: str) -> list[str]:
    """The commands of a page, from its blocks of code."""
    return [
        line.strip() for line in re.findall(rf"^ {{4,}}({program}.+)$", page(skill), re.MULTILINE)
    ]


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with WebServer() as site:
        yield site


@pytest.fixture
async def gateway(world: World) -> World:
    world.configure(more='[tools.web]\nallow_private = ["127.0.0.1"]')
    await world.start()
    world.telegram.say(1, "say:hello")
    await world.said(1, "hello")
    return world


async def use(world: World, tool: str, **arguments: object) -> str:
    """What a tool gives when the model calls it."""
    before, calls = len(world.texts(1)), len(world.model.requests)
    world.telegram.say(1, f"tool:{tool}:{json.dumps(arguments)}\nsay:done")
    await world.answered(1, before + 1)
    for request in world.model.requests[calls:]:
        last = request["messages"][-1]
        if last["role"] == "tool":
            return str(last["content"])
    raise AssertionError(f"{tool} was not called: {world.texts(1)[-1]}")


async def test_the_model_is_told_of_every_one_and_can_open_it(gateway: World) -> None:
    system = gateway.model.requests[-1]["messages"][0]["content"]
    for name in SHIPPED:
        assert f"\n- {name}: " in system
        opened = await use(gateway, "skill", name=name)
        assert page(name).partition("---\n\n")[2].strip()[:200] in opened


async def test_git(gateway: World) -> None:
    steps = ["git init -b main site", "touch site/index.html"]
    for command in commands("git", "git "):
        filled = command.replace("FOLDER", "site").replace("PATH PATH", "index.html")
        filled = filled.replace('"NAME"', '"Ann"').replace('"EMAIL"', '"a@example.org"')
        steps.append(filled)
    look = [step for step in steps if " status " in step or " log " in step or " diff " in step]
    make = [step for step in steps if step not in look]
    assert len(look) == 3
    done = await use(gateway, "exec", command=" && ".join([*make, *look]))
    assert "## main" in done
    assert "WHY" in done
    assert done.endswith("[exit code 0]")


async def seen(world: World, command: str, wanted: str) -> None:
    """Look at the screen until it shows that."""
    async with asyncio.timeout(PATIENCE):
        match = None
        while match is None:
            match = re.search(wanted, await use(world, "exec", command=command), re.MULTILINE)


async def test_tmux(gateway: World) -> None:
    start, type_in, read = commands("tmux", "(?:mkdir|tmux|sleep) ")[:3]
    end = "tmux -S .tmux/main kill-session -t work"
    assert SCREEN in read
    assert f"`{end}`" in page("tmux")
    started = await use(gateway, "exec", command=start, background=True)
    assert started.startswith("Started in the background")
    await seen(gateway, SCREEN, r"^>>>")
    await use(gateway, "exec", command=type_in)
    await seen(gateway, read, r"^42$")
    assert "exit code 0" in await use(gateway, "exec", command=end)


async def test_weather_up_to_the_network(gateway: World, site: WebServer) -> None:
    """The pages are Open-Meteo's in form; what is asked for is what the skill says."""
    places = {"results": [{"name": "Bern", "latitude": 46.9, "longitude": 7.4, "timezone": "x"}]}
    site.page("/v1/search", json.dumps(places).encode(), "application/json")
    now = {"current": {"temperature_2m": 21.5}, "daily": {"sunset": ["2027-01-15T17:05"]}}
    site.page("/v1/forecast", json.dumps(now).encode(), "application/json")
    urls = commands("weather", "https://")
    place, weather = (re.sub(r"^https://[^/]+", site.url(""), url) for url in urls)
    assert "Bern" in await use(gateway, "web_fetch", url=place.replace("PLACE", "Bern"))
    weather = weather.replace("LAT", "46.9").replace("LON", "7.4")
    text = await use(gateway, "web_fetch", url=weather)
    assert "21.5" in text
    assert "2027-01-15T17:05" in text
    searched, forecast = (path for _, path in site.asked if path.startswith("/v1/"))
    assert "name=Bern&count=3" in searched
    assert "latitude=46.9&longitude=7.4&timezone=auto" in forecast


async def test_notes(gateway: World) -> None:
    line = "- 2026-03-14: the heating man comes on Thursdays only, ask for Ms Berger"
    assert line in page("notes")
    await use(gateway, "write_file", path="notes/house.md", content=f"{line}\n")
    assert "house.md" in await use(gateway, "list_dir", path="notes", glob="**/*.md")
    await use(
        gateway,
        "edit_file",
        path="notes/house.md",
        old_text=line,
        new_text=f"{line}\n- [ ] bleed the radiators",
    )
    assert "house.md" in await use(gateway, "search_files", pattern="radiators", path="notes")
    assert "- [ ] bleed" in await use(gateway, "read_file", path="notes/house.md")


async def test_summarize(gateway: World, site: WebServer) -> None:
    body = "<article><h1>Owls</h1><p>" + "Owls hunt at night, all of them. " * 40 + "</p></article>"
    url = site.page("/owls", body.encode())
    assert "Owls hunt at night" in await use(gateway, "web_fetch", url=url)
    text = "\n".join(f"line {number}" for number in range(3_000))
    await use(gateway, "write_file", path="long.txt", content=text)
    first = await use(gateway, "read_file", path="long.txt")
    offset = int(re.findall(r"offset=?\D{0,3}(\d+)", first)[-1])
    assert f"line {offset - 1}\n" in await use(gateway, "read_file", path="long.txt", offset=offset)


async def test_nanobot(gateway: World) -> None:
    """Its page says what the model may change of itself, and that it cannot read its settings."""
    assert "SOUL.md" in await use(gateway, "skill", name="nanobot")
    assert "error" in await use(gateway, "read_file", path="../config.toml")
    tea = "---\nname: tea\ndescription: Making tea.\n---\n\nGreen tea: two minutes.\n"
    await use(gateway, "write_file", path="skills/tea/SKILL.md", content=tea)
    assert "two minutes" in await use(gateway, "skill", name="tea")
    await use(gateway, "write_file", path="SOUL.md", content="You speak like a heron.\n")
    before = len(gateway.texts(1))
    gateway.telegram.say(1, "/reload")
    await gateway.answered(1, before + 1)
    gateway.telegram.say(1, "say:here")
    assert (await gateway.answered(1, before + 2))[-1] == "here"
    system = gateway.model.requests[-1]["messages"][0]["content"]
    assert "You speak like a heron." in system
    assert "\n- tea: " in system


def test_the_page_about_nanobot_names_what_there_is() -> None:
    text = page("nanobot")
    words = {
        word
        for operation in (*OPERATIONS, *plugin_operations())
        for word in (operation.name, operation.name.split()[0])
    }
    chat = set(re.findall(r"`/([a-z ]+)`", text))
    assert len(chat) > 8
    assert chat <= words
    keys = set(re.findall(r"`agent\.(\w+)`", text))
    assert keys <= set(AgentSettings.__struct_fields__)
    files = {*COMMON_FILES, *TOOL_FILES, *PRIVATE_FILES}
    assert set(re.findall(r"`([A-Z]+\.md)`", text)) == files


@pytest.mark.parametrize("name", SHIPPED)
def test_a_page_names_only_tools_there_are(name: str) -> None:
    tools = {"exec", "process", "read_file", "write_file", "edit_file", "list_dir", "search_files"}
    tools |= {"web_fetch", "web_search", "message", "skill"}
    used = set(re.findall(r"`([a-z]+_[a-z]+)`", page(name))) - {"old_text", "new_text"}
    used -= {"weather_code", "forecast_days"}
    assert used <= tools
