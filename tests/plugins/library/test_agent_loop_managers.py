"""AgentLoop with managers of a program: one bus for all of them, and what tools start is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot.agent.library.subagents import SubagentManager
from nanobot.agent.loop import AgentLoop
from nanobot.errors import UsageError
from nanobot.messages import InboundMessage
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.plugins.library.sessions import SessionManager
from nanobot.providers.base import Completion, ModelRequest
from nanobot.system import SystemClock
from nanobot.testing.model import ScriptedProvider, asks_for, last_text
from nanobot.tools.registry import ToolRegistry
from nanobot.triggers.cron.service import CronService

MANAGERS: dict[str, Callable[[MessageBus], object]] = {
    "session_manager": SessionManager,
    "subagent_manager": lambda bus: SubagentManager(bus, bus.tasks),
    "cron_service": lambda bus: CronService(bus.jobs, bus, SystemClock()),
}


def loop(folder: Path, *script: Completion | str, **given: object) -> AgentLoop:
    return AgentLoop(provider=ScriptedProvider(*script), workspace=folder, **given)  # type: ignore[arg-type]


def names(agent: AgentLoop) -> set[str]:
    return {spec.name for spec in agent.tools.specs()}


@pytest.mark.parametrize("name", MANAGERS)
async def test_without_a_bus_the_loop_works_over_the_bus_of_its_manager(
    tmp_path: Path, name: str
) -> None:
    bus = MessageBus()
    agent = loop(tmp_path, "hello", **{name: MANAGERS[name](bus)})
    assert agent.bus is bus
    assert await agent.process_direct("hi", "web:1") == "hello"
    assert len((await SessionManager(bus).get_or_create("web:1")).history) == 2
    await agent.close()
    assert len((await SessionManager(bus).get_or_create("web:1")).history) == 2
    await bus.close()


@pytest.mark.parametrize("name", MANAGERS)
async def test_a_manager_over_another_bus_is_refused_by_name(tmp_path: Path, name: str) -> None:
    bus, other = MessageBus(), MessageBus()
    with pytest.raises(UsageError, match=f"^{name}: it works over another bus"):
        loop(tmp_path, bus=bus, **{name: MANAGERS[name](other)})
    apart = {each: make(other if each == name else bus) for each, make in MANAGERS.items()}
    with pytest.raises(UsageError, match="it works over another bus"):
        loop(tmp_path, **apart)


async def test_managers_add_their_tools_to_a_registry_of_the_program(tmp_path: Path) -> None:
    bus, tools = MessageBus(), ToolRegistry()
    given = {name: make(bus) for name, make in MANAGERS.items()}
    agent = loop(tmp_path, tools=tools, **given)
    assert names(agent) == {"spawn", "cron"}
    assert names(loop(tmp_path, tools=tools, **given)) == {"spawn", "cron"}  # added once
    assert names(loop(tmp_path, tools=ToolRegistry())) == set()
    await bus.close()


def delegating(request: ModelRequest) -> Completion | str:
    text = last_text(request)
    if text == "how far is the moon?":
        return asks_for("spawn", task="look it up")
    if text == "remind me":
        return asks_for("cron", action="add", schedule="in 1 second", message="stretch")
    if "background run" in text:
        return "It says: far."
    return "far" if "look it up" in text else f"done: {text[-7:]}"


async def test_a_program_that_only_asks_has_its_subagents_done(tmp_path: Path) -> None:
    bus = MessageBus()
    agent = AgentLoop(bus, ScriptedProvider(otherwise=delegating), tmp_path)
    await agent.process_direct("how far is the moon?")
    async with asyncio.timeout(10):
        assert (await bus.consume_outbound()).text == "It says: far."
    await agent.close()
    await bus.close()


@pytest.mark.process
async def test_a_program_that_only_asks_has_its_jobs_done(tmp_path: Path) -> None:
    bus = MessageBus()
    agent = AgentLoop(bus, ScriptedProvider(otherwise=delegating), tmp_path)
    await agent.process_direct("remind me")
    async with asyncio.timeout(10):
        assert "stretch" in (await bus.consume_outbound()).text
    await agent.close()
    await bus.close()


async def test_what_a_program_answers_itself_is_left_to_it(tmp_path: Path) -> None:
    """Only background runs and jobs are done unasked: messages of people wait for `run`."""
    bus = MessageBus()
    agent = AgentLoop(bus, ScriptedProvider(), tmp_path)
    await agent.process_direct("hi")
    await bus.publish_inbound(InboundMessage("app", "7", "mine"))
    async with asyncio.timeout(10):
        assert (await bus.consume_inbound()).text == "mine"
    await agent.close()
    await bus.close()


def test_each_of_several_event_loops_goes_on_with_the_background(tmp_path: Path) -> None:
    agent = AgentLoop(
        provider=ScriptedProvider(otherwise=delegating), workspace=tmp_path, max_iterations=5
    )
    asyncio.run(agent.process_direct("how far is the moon?"))

    async def heard() -> str:
        await agent.process_direct("hi")
        assert isinstance(agent.bus, MessageBus)
        async with asyncio.timeout(10):
            return (await agent.bus.consume_outbound()).text

    assert asyncio.run(heard()) == "It says: far."
    asyncio.run(agent.close())
