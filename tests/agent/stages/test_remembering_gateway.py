"""What a whole gateway remembers once a conversation is quiet, by a clock that tests own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from nanobot.agent.library.run_input import RunInput, RunResult
from nanobot.app.assembly import Parts
from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.memory.port import MemoryView
from nanobot.testing.machine import PATIENCE, ManualClock
from tests.doubles.openai_server import Answer, Body, OpenAIServer

REMEMBER = "You keep the memory of an assistant."


def script(body: Body) -> Answer | None:
    if str(body["messages"][0]["content"]).startswith(REMEMBER):
        return Answer("Ann drinks green tea.")
    return None


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer(script) as server:
        yield server


def made(folder: Path, model: OpenAIServer, clock: ManualClock) -> Gateway:
    environ = {"NANOBOT_HOME": str(folder), "TZ": "UTC"}
    text = f'[agent]\nmodel = "test/scripted"\n[providers.test]\napi_base = "{model.base_url}"\n'
    (folder / "config.toml").write_text(text)
    return Gateway(load(environ), environ, clock=clock, channels=False)


async def say(gateway: Parts, text: str, session: str = "api:tea") -> str:
    asked = RunInput(messages=[{"role": "user", "content": text}], session_key=session)
    *_, last = [item async for item in gateway.programs.stream(asked)]
    assert isinstance(last, RunResult)
    return last.message


async def eventually(clock: ManualClock, holds: Callable[[], bool]) -> None:
    """Let the services look, by a second of their time for every turn of ours."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            clock.advance(1.0)
            await asyncio.sleep(0.005)


async def known(gateway: Parts) -> list[MemoryView]:
    return await gateway.memory.listed(scopes=None)


def remembered(model: OpenAIServer) -> int:
    return sum(str(body["messages"][0]["content"]).startswith(REMEMBER) for body in model.requests)


async def test_a_quiet_conversation_is_remembered_once_and_what_is_new_once_more(
    tmp_path: Path, model: OpenAIServer
) -> None:
    clock = ManualClock(instant=False)
    async with made(tmp_path, model, clock).serving("test", lambda _: None) as gateway:
        await say(gateway, "say:Green, then.")
        clock.advance(30.0)
        assert remembered(model) == 0
        await eventually(clock, lambda: any((tmp_path / "workspace/memory").glob("*.md")))
        (one,) = await known(gateway)
        assert (one.text, one.kind, one.scope) == ("Ann drinks green tea.", "summary", "owner")
        assert one.provenance.session_key == "api:tea"
        before = clock.now()
        await eventually(clock, lambda: clock.now() > before + 120)
        assert remembered(model) == 1
        await say(gateway, "say:And cake.")
        await eventually(clock, lambda: remembered(model) == 2)
        last = str(model.requests[-1]["messages"][-1]["content"])
        assert "And cake." in last
        assert "Green, then." not in last


async def test_a_job_that_said_nothing_is_not_remembered(
    tmp_path: Path, model: OpenAIServer
) -> None:
    clock = ManualClock(instant=False)
    async with made(tmp_path, model, clock).serving("test", lambda _: None) as gateway:
        add = {"text": "every 2 hours say:NOTHING_TO_SAY"}
        await gateway.operations.call("cron add", add)
        await gateway.operations.call("cron run", {"text": "1"})
        await eventually(clock, lambda: bool(model.requests))
        before = clock.now()
        await eventually(clock, lambda: clock.now() > before + 180)
        assert remembered(model) == 0
        assert await known(gateway) == []
