"""AgentLoop with a provider and a folder alone: a bus of its own, every tool, and how runs end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from loguru import logger

from nanobot.agent.library.subagents import SubagentManager
from nanobot.agent.loop import AgentLoop
from nanobot.errors import ModelRefused, RunFailed, StoreError, ToolError, UsageError
from nanobot.messages import Address, InboundMessage
from nanobot.plugins.library.context_builder import ContextBuilder
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.plugins.library.persona import MemoryStore, PersonaConfig, SkillsLoader
from nanobot.providers.base import Completion, ModelRequest, ToolCall
from nanobot.testing.gateway import MemoryHome, Process
from nanobot.testing.model import ScriptedProvider, asks_for, last_text
from nanobot.tools.registry import ToolRegistry
from tests.stored import runs_of


def names(agent: AgentLoop) -> set[str]:
    return {definition["function"]["name"] for definition in agent.tools.get_definitions()}


async def all_of(pieces: AsyncIterator[str]) -> list[str]:
    return [piece async for piece in pieces]


async def test_without_a_bus_it_has_a_private_one(tmp_path: Path) -> None:
    agent = AgentLoop(provider=ScriptedProvider("one", "two"), workspace=tmp_path)
    assert await agent.process_direct("first") == "one"
    assert await agent.process_direct("second") == "two"
    assert len((await agent.sessions.get_or_create("cli:direct")).history) == 4
    await agent.close()
    assert (await agent.sessions.get_or_create("cli:direct")).history == ()
    await agent.close()


@pytest.mark.parametrize("missing", ["provider", "workspace"])
def test_what_it_cannot_do_without_is_named(tmp_path: Path, missing: str) -> None:
    given = {"provider": ScriptedProvider(), "workspace": tmp_path, missing: None}
    with pytest.raises(UsageError, match=f"^{missing}: "):
        AgentLoop(**given)  # type: ignore[arg-type]


def test_it_can_be_made_before_any_loop_runs(tmp_path: Path) -> None:
    agent = AgentLoop(provider=ScriptedProvider("there"), workspace=tmp_path)

    async def ask() -> str:
        try:
            return await agent.process_direct("anybody?")
        finally:
            await agent.close()

    assert asyncio.run(ask()) == "there"


def delegating(request: ModelRequest) -> Completion | str:
    text = last_text(request)
    if text == "how far is the moon?":
        return asks_for("spawn", task="look it up")
    if "background run" in text:
        return "It says: far."
    return "far" if "look it up" in text else "I am on it."


async def test_a_subagent_works_while_the_loop_runs_and_its_report_is_answered(
    tmp_path: Path,
) -> None:
    bus = MessageBus()
    agent = AgentLoop(bus, ScriptedProvider(otherwise=delegating), tmp_path)
    assert await agent.process_direct("how far is the moon?") == "I am on it."
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(agent.run())
        assert (await bus.consume_outbound()).text == "It says: far."
        agent.stop()
    await bus.close()


async def test_a_manager_that_is_given_starts_the_subagents(tmp_path: Path) -> None:
    async with MemoryHome() as home:
        process = Process(home)
        bus = MessageBus(process.journal)
        model = ScriptedProvider(asks_for("spawn", task="look it up"), "on it")
        manager = SubagentManager(bus, process.tasks)
        agent = AgentLoop(bus, model, tmp_path, subagent_manager=manager)
        assert await agent.process_direct("go") == "on it"
        (run,) = await runs_of(process.records).listed(session="", state="", limit=5, kind="task")
        assert run.title == "look it up"


async def test_over_a_store_of_others_only_what_is_given_can_be_started(tmp_path: Path) -> None:
    async with MemoryHome() as home:
        agent = AgentLoop(MessageBus(Process(home).journal), ScriptedProvider(), tmp_path)
        assert names(agent).isdisjoint({"spawn", "cron"})
        assert "message" in names(agent)


async def test_calls_that_a_program_makes_itself_take_effect(tmp_path: Path) -> None:
    bus = MessageBus()
    agent = AgentLoop(bus, ScriptedProvider(), tmp_path)
    await agent.execute_tool("message", {"content": "hi", "channel": "app", "chat_id": "7"})
    message = await bus.consume_outbound()
    assert (message.text, str(message.address)) == ("hi", "app:7")
    started = await agent.execute_tool("spawn", {"task": "count"})
    assert await bus.journal.session(f"task:{started.split()[1].removeprefix('#')}")
    await bus.close()


async def test_a_message_needs_a_channel_a_chat_and_its_content(tmp_path: Path) -> None:
    message = InboundMessage("app", "7", "hi")
    assert message == InboundMessage(channel="app", chat_id="7", content="hi")
    assert (message.channel, message.chat_id, message.content) == ("app", "7", "hi")
    assert (message.address, message.text) == (Address("app", "7"), "hi")
    assert msgspec.json.decode(msgspec.json.encode(message), type=InboundMessage) == message
    with pytest.raises(TypeError, match="an address, or a channel and a chat_id"):
        InboundMessage(content="hi")
    bus = MessageBus()
    await bus.publish_inbound(message)
    await bus.publish_inbound(message)  # nothing says that it is the same
    first, second = await bus.consume_inbound(), await bus.consume_inbound()
    assert first.content == second.content == "hi"
    assert first.dedupe_key != second.dedupe_key
    assert first.sent_at > 1.7e9
    await bus.close()


# How runs end


async def test_a_stream_ends_with_words_when_the_model_fails(tmp_path: Path) -> None:
    agent = AgentLoop(provider=ScriptedProvider(ModelRefused("no such key")), workspace=tmp_path)
    pieces = await all_of(agent.process_message("hello", session_id="s"))
    assert "".join(pieces) == "I could not answer: no such key"
    await agent.close()


async def test_a_stream_ends_with_the_limit_that_it_met(tmp_path: Path) -> None:
    model = ScriptedProvider(otherwise=lambda _: asks_for("list_dir", "Looking. ", path="."))
    agent = AgentLoop(provider=model, workspace=tmp_path, max_iterations=2)
    text = "".join(await all_of(agent.process_message("look", "s")))
    assert text == "Looking. Looking. \n\n(I stopped here: the limit of 2 model calls.)"
    await agent.close()


async def test_an_answer_is_not_said_twice_at_its_end(tmp_path: Path) -> None:
    agent = AgentLoop(provider=ScriptedProvider(" plain text \n"), workspace=tmp_path)
    assert "".join(await all_of(agent.process_message("say", "s"))) == " plain text \n"
    await agent.close()


@pytest.mark.parametrize("streamed", [True, False])
async def test_errors_are_raised_for_whoever_wants_them(tmp_path: Path, streamed: bool) -> None:
    model = ScriptedProvider(
        ModelRefused("no such key"), otherwise=lambda _: asks_for("list_dir", path=".")
    )
    agent = AgentLoop(provider=model, workspace=tmp_path, max_iterations=1)

    async def ask() -> None:
        if streamed:
            await all_of(agent.process_message("go", "s", raise_errors=True))
        else:
            await agent.process_direct("go", "s", raise_errors=True)

    with pytest.raises(ModelRefused, match="no such key"):
        await ask()
    with pytest.raises(RunFailed, match="the limit of 1 model calls") as failed:
        await ask()
    assert failed.value.reason == "limit_iterations"
    await agent.close()


async def test_a_reply_with_forty_calls_is_held_to_the_limit(tmp_path: Path) -> None:
    calls = tuple(ToolCall(f"c{n}", "list_dir", '{"path": "."}') for n in range(40))
    model = ScriptedProvider(Completion(text="", tool_calls=calls, finish_reason="tool_calls"))
    agent = AgentLoop(provider=model, workspace=tmp_path, max_iterations=25)
    assert await agent.process_direct("go") == "(I stopped here: the limit of 25 tool calls.)"
    history = (await agent.sessions.get_or_create("cli:direct")).history
    assert sum(message["role"] == "tool" for message in history) == 25
    await agent.close()


# Tools


async def test_tool_calls_of_a_library_are_no_lines_of_the_log(tmp_path: Path) -> None:
    lines: list[str] = []
    sink = logger.add(lines.append, level="INFO", format="{message}")
    model = ScriptedProvider(asks_for("list_dir", path="."), "done")
    agent = AgentLoop(provider=model, workspace=tmp_path)
    try:
        await agent.process_direct("look")
    finally:
        logger.remove(sink)
        await agent.close()
    assert [line for line in lines if "list_dir" in line] == []


def weather(city: str, days: int = 3) -> str:
    """The weather of the next days."""
    return f"{days} days of sun in {city}"


async def test_a_registry_takes_a_typed_function_and_runs_it_with_values() -> None:
    tools = ToolRegistry()
    tools.register(weather)
    assert await tools.execute("weather", {"city": "Oslo"}) == "3 days of sun in Oslo"
    assert await tools.execute("weather", '{"city": "Oslo", "days": 1}') == "1 days of sun in Oslo"
    with pytest.raises(ToolError, match="city"):
        await tools.execute("weather", {"days": 1})


# Prompts


def test_a_context_builder_takes_memory_skills_and_persona(tmp_path: Path) -> None:
    elsewhere, skills = tmp_path / "memory", tmp_path / "skilled" / "skills" / "tea"
    skills.mkdir(parents=True)
    (skills / "SKILL.md").write_text(
        "---\nname: tea\ndescription: How to make tea\nalways: true\n---\nBoil water first."
    )
    memory = MemoryStore(elsewhere)
    memory.append("Ann likes\ntea")
    builder = ContextBuilder(
        workspace=tmp_path / "workspace",
        memory=memory,
        skills=SkillsLoader(tmp_path / "skilled"),
        persona_config=PersonaConfig(
            ai_name="Tess", user_name="Ann", custom_personality="Speak in rhymes."
        ),
    )
    prompt = builder.build_system_prompt()
    for part in ("You are Tess", "called Ann", "Speak in rhymes.", "- Ann likes tea", "Boil water"):
        assert part in prompt
    for head in ("Tools:", "Memory:", "Safety:"):  # principles, guidance on memory, safety
        assert f"{head}\n" in prompt
    assert "Tools:\n" not in builder.build_system_prompt(tools=())


def test_a_personality_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"persona_config\.personality: there are .*default"):
        ContextBuilder(tmp_path, persona_config=PersonaConfig(personality="pirate"))
    with pytest.raises(UsageError, match="fact"):
        MemoryStore(tmp_path).append("  ")


async def test_a_store_in_memory_that_is_closed_refuses_what_still_runs() -> None:
    home = MemoryHome()
    closing = asyncio.create_task(home.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreError, match="closed"):
        await runs_of(Process(home).records).listed(session="", state="", limit=5, kind="task")
    await closing
