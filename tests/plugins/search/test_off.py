"""A gateway whose search is off says so, lists conversations by title, and erases all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.plugins.common.erasing import Eraser
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.search.hits import SearchHit
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider
from tests.server.housing import house

OFF = '[plugins]\noff = ["search"]\n'
KEY = "cli:desk"
REMEDY = "This belongs to the plugin search. It is switched off: nanobot plugins on search"


@asynccontextmanager
async def serving(folder: Path, settings: str = "") -> AsyncIterator[Parts]:
    (folder / "config.toml").write_text(settings)
    environ = {"NANOBOT_HOME": str(folder)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, channels=False, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


async def say(parts: Parts, text: str) -> None:
    asked = RunInput(session_key=KEY, messages=[{"role": "user", "content": text}])
    async for _ in parts.plugged.offers.get(RunService).stream(asked):
        continue


async def eventually_found(parts: Parts, word: str, count: int) -> Sequence[SearchHit]:
    found: list[SearchHit] = []
    async with asyncio.timeout(20):
        while len(found) != count:
            await asyncio.sleep(0.05)
            found = await parts.operations.call("search", {"find": word})
    return found


async def test_what_was_said_while_search_is_off_is_found_later_and_what_was_erased_is_not(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as parts:
        await say(parts, "Tell me of lighthouses")
        await say(parts, "My word is abracadabra")
        hits = await eventually_found(parts, "abracadabra", 2)
        (row,) = await parts.operations.call("sessions list", {"find": "abracadabra"})
        assert "abracadabra" in row.found
    async with serving(tmp_path, OFF) as parts:
        call = parts.operations.call
        with pytest.raises(UsageError, match=r"the plugin search, which is off here.*plugins on"):
            await call("search", {"find": "abracadabra"})
        with pytest.raises(UsageError, match=r"No name or title .*plugins on search"):
            await call("sessions list", {"find": "abracadabra"})
        (row,) = await call("sessions list", {"find": "lighthouses"})
        assert (row.key, row.found) == (KEY, "")
        for hit in hits:
            await parts.plugged.offers.get(Eraser).erase(KEY, hit.seq, "me")  # type: ignore[type-abstract]
        await say(parts, "Another word is xylophone")
    async with serving(tmp_path) as parts:
        await eventually_found(parts, "xylophone", 2)
        assert await parts.operations.call("search", {"find": "abracadabra"}) == []


async def test_people_are_told_how_to_switch_it_on(tmp_path: Path) -> None:
    async with house(tmp_path / "home", web=OFF) as served:
        owner = await served.owner()
        code, refused = await owner.get("/api/search?find=hello")
        assert (code, refused["error"]["code"]) == (404, "plugin_off")
        assert refused["error"]["message"] == REMEDY
        _, described = await owner.get("/openapi.json")
        assert "/api/search" not in described["paths"]
        _, me = await owner.get("/api/me")
        assert not [each for each in me["views"] if each["place"] == "palette"]
        code, missing = await owner.get("/api/nothing/of/that/name")
        assert (code, missing["error"]["code"]) == (404, "not_found")


async def test_the_page_finds_messages_while_it_is_on(tmp_path: Path) -> None:
    async with house(tmp_path / "home") as served:
        owner = await served.owner()
        _, me = await owner.get("/api/me")
        (view,) = [each for each in me["views"] if each["place"] == "palette"]
        assert view["script"] == "/plugins/search/views/main.js"
        assert view["needs"] == "search"


async def test_a_command_of_a_plugin_that_is_off_names_the_plugin(tmp_path: Path) -> None:
    async with serving(tmp_path, OFF) as parts:
        said = parts.operations.unknown("/search hello")
        assert said.startswith("/search belongs to the plugin search, which is off here")
        assert "`plugins on search`" in said
        assert parts.operations.unknown("/stauts").startswith("There is no /stauts")
