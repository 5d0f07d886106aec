"""What a whole gateway remembers once a conversation is quiet, by a clock that tests own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.config.loader import load
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.jobs.triggers import GatheredTriggers
from nanobot.plugins.memory.index import Memory
from nanobot.plugins.memory.port import MemoryView
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
    request = RunInput(messages=[{"role": "user", "content": text}], session_key=session)
    *_, last = [item async for item in gateway.plugged.offers.get(RunService).stream(request)]
    assert isinstance(last, RunResult)
    return last.message


async def eventually(clock: ManualClock, holds: Callable[[], bool]) -> None:
    """Let the services look, by a second of their time for every turn of ours."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            clock.advance(1.0)
            await asyncio.sleep(0.002)


async def known(gateway: Parts) -> list[MemoryView]:
    return await gateway.plugged.offers.get(Memory).listed(scopes=None)


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
        (memory,) = await known(gateway)
        assert (memory.text, memory.kind, memory.scope) == (
            "Ann drinks green tea.",
            "summary",
            "owner",
        )
        assert memory.provenance.session_key == "api:tea"
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
        await gateway.operations.call("cron run", {"job": "1"})
        await eventually(clock, lambda: bool(model.requests))
        before = clock.now()
        await eventually(clock, lambda: clock.now() > before + 180)
        assert remembered(model) == 0
        assert await known(gateway) == []


UNWATCHED = "\n".join(
    f"[events.{name}]\nenabled = false" for name in ("disk", "memory", "swap", "load", "units")
)


def with_events(folder: Path, model: OpenAIServer, clock: ManualClock, to: str) -> Gateway:
    """One that events are published to by the test alone."""
    made(folder, model, clock)
    file = folder / "config.toml"
    events = f'[events]\nenabled = true\nto = "{to}"\n{UNWATCHED}\n'
    channel = '[channels.telegram]\ntoken = "1:a"\nowners = ["1001"]\n'
    file.write_text(file.read_text() + events + channel)
    environ = {"NANOBOT_HOME": str(folder), "TZ": "UTC"}
    return Gateway(load(environ), environ, clock=clock, channels=False)


SAVES = 'tool:memory_save:{"text": "nginx is restarted by hand."}\nsay:nginx was started again.'


@pytest.mark.parametrize("to", ["", "telegram:1001", "cli:direct"])
async def test_what_an_event_taught_is_kept_and_its_run_summed_up(
    tmp_path: Path, model: OpenAIServer, to: str
) -> None:
    clock = ManualClock(instant=False)
    async with with_events(tmp_path, model, clock, to).serving("test", lambda _: None) as gateway:
        _, publisher = gateway.plugged.offers.get(GatheredTriggers).each["events"]
        await publisher.publish(SAVES)
        await eventually(clock, lambda: remembered(model) == 1)
        before = clock.now()
        await eventually(clock, lambda: clock.now() > before + 120)
        memories = {memory.text: memory for memory in await known(gateway)}
        assert memories["nginx is restarted by hand."].kind == "fact"
        assert memories["Ann drinks green tea."].kind == "summary"
        assert {(memory.state, memory.scope) for memory in memories.values()} == {
            ("active", "owner")
        }
        assert remembered(model) == 1
        await publisher.publish("say:NOTHING_TO_SAY")
        before = clock.now()
        await eventually(clock, lambda: clock.now() > before + 240)
        assert remembered(model) == 1


async def test_what_an_event_taught_stays_with_the_group_that_it_is_told_to(
    tmp_path: Path, model: OpenAIServer
) -> None:
    clock = ManualClock(instant=False)
    bot = with_events(tmp_path, model, clock, "telegram:-7")
    async with bot.serving("test", lambda _: None) as gateway:
        _, publisher = gateway.plugged.offers.get(GatheredTriggers).each["events"]
        await publisher.publish(SAVES)
        await eventually(clock, lambda: remembered(model) == 1)
        before = clock.now()
        await eventually(clock, lambda: clock.now() > before + 60)
        assert {memory.scope for memory in await known(gateway)} == {"chats/telegram/-7"}


async def test_what_the_run_at_the_start_answers_is_remembered(
    tmp_path: Path, model: OpenAIServer
) -> None:
    clock = ManualClock(instant=False)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "BOOT.md").write_text("say:There are two disks.")
    async with made(tmp_path, model, clock).serving("test", lambda _: None) as gateway:
        await eventually(clock, lambda: remembered(model) == 1)
        before = clock.now()
        await eventually(clock, lambda: clock.now() > before + 60)
        (memory,) = await known(gateway)
        assert (memory.kind, memory.scope, memory.state) == ("summary", "owner", "active")
        assert memory.provenance.session_key == "lifecycle:boot"
