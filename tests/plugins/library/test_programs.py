"""Runs for programs: what is wrong with an input is named, pictures come with it, whoever waits is
told that the store fails, and an agent of one's own is made of one's own parts."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nanobot.agent.loop import AgentLoop
from nanobot.api import Agent
from nanobot.errors import StoreUnwritable, UsageError
from nanobot.messages import EventKind, RunEvent
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.memory_blobs import MemoryBlobs
from nanobot.plugins.common.files.placed_files import PlacedFiles
from nanobot.plugins.common.runs.checked_input import checked
from nanobot.plugins.common.runs.run_input import RunInput, RunLimits, RunResult, ToolPolicy
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.providers.base import ImagePart, ModelProfile, ModelRequest
from nanobot.store.opening import in_memory_database
from nanobot.system import SystemClock
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options, Process
from nanobot.testing.machine import CountingIds
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.tools.base import AnyTool, CallContext, ToolOutput
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.received import Received
from tests.pictures import png

HELLO = {"role": "user", "content": "hello"}
PICTURE = f"data:image/png;base64,{base64.b64encode(png()).decode()}"


def part(url: str) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": url}}


async def result_of(bot: FakeGateway, request: RunInput) -> RunResult:
    *_, last = [item async for item in bot.run_service.stream(request)]
    assert isinstance(last, RunResult)
    return last


# What is wrong is named


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"messages": "hi"}, "messages: expected array, got str"),
        ({"messages": [object()]}, "messages: "),
        ({"messages": []}, "messages: the last one"),
        ({"messages": [{"role": "user"}]}, "messages: content is text"),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "messages: a part"),
        ({"messages": [{"role": "user", "content": [part("http://x/y.png")]}]}, "messages: a pic"),
        ({"messages": [{"role": "user", "content": [part(f"{PICTURE}*")]}]}, "not base64"),
        ({"messages": [{"role": "user", "content": [part(PICTURE[:40])]}]}, "messages: a picture"),
        ({"session_key": 7}, "session_key: expected str"),
        ({"allowed_tools": "exec"}, "allowed_tools: expected array"),
        ({"limits": {"max_run_ms": "soon"}}, "limits.max_run_ms: expected int"),
        ({"limits": RunLimits(max_run_ms=10**400)}, "limits.max_run_ms: at most 9,007,"),
        ({"limits": RunLimits(max_iterations=10**5_000)}, "limits.max_iterations: "),
        ({"limits": RunLimits(max_iterations=0)}, "limits.max_iterations: at least 1"),
        ({"tool_policy": ToolPolicy(max_parallel=9)}, "tool_policy.max_parallel: at most 8"),
        ({"runtime_hints": {"a": 1}}, "runtime_hints"),
    ],
)
def test_wrong_input_names_its_field(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as error:
        checked(RunInput(**{"messages": [HELLO], **fields}))
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"allowed_tools": ("exce",)}, "allowed_tools"),
        ({"tool_policy": ToolPolicy(allow_list=("exce",))}, "tool_policy.allow_list"),
        ({"tool_order": ("exce",)}, "tool_order"),
    ],
)
async def test_names_of_tools_that_are_not_there_are_refused(
    fields: dict[str, Any], field: str
) -> None:
    async with gateway() as bot:
        bot.tools.register(exec_)
        with pytest.raises(UsageError, match=f'{field}: there is no tool "exce"; did you mean ex'):
            await result_of(bot, RunInput(messages=[HELLO], **fields))
        assert not bot.provider.requests


def exec_(text: str) -> str:
    """Does it."""
    return text


async def test_a_run_that_is_known_is_given_whatever_became_of_its_tools() -> None:
    async with gateway() as bot:
        bot.tools.register(exec_)
        request = RunInput(messages=[HELLO], run_id="r", allowed_tools=("exec_",))
        first = await result_of(bot, request)
        bot.tools.unregister("exec_")
        assert await result_of(bot, request) == first


# Pictures


async def test_pictures_come_with_the_messages_of_an_input(tmp_path: Path) -> None:
    seeing = ScriptedProvider("a dot", model=ModelProfile(name="m", provider="test", images=True))
    received = Received(MemoryBlobs(), PlacedFiles(ConfinedFiles(tmp_path)))
    question = [{"type": "text", "text": "and this?"}, part(PICTURE)]
    request = RunInput(
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "look"}, part(PICTURE)]},
            {"role": "assistant", "content": "a dot"},
            {"role": "user", "content": question},
        ],
        run_id="r",
    )
    async with gateway(seeing, options=Options(received=received)) as bot:
        assert (await result_of(bot, request)).message == "a dot"
        (sent,) = bot.provider.requests
        content = sent.messages[-1].content
        assert not isinstance(content, str)
        images = [piece.data for piece in content if isinstance(piece, ImagePart)]
        assert images == [base64.b64encode(png()).decode()] * 2
        assert "and this?" in str(content[0])
        assert "look\n[1 picture, shown with the last message]" in str(sent.messages[1].content)
        await result_of(bot, request)
        assert len(bot.provider.requests) == 1


async def test_where_nothing_keeps_pictures_they_are_refused() -> None:
    async with gateway() as bot:
        with pytest.raises(UsageError, match="does not accept pictures"):
            await result_of(bot, RunInput(messages=[{"role": "user", "content": [part(PICTURE)]}]))


# A store that fails


@pytest.mark.parametrize("verb", ["admit", "claim", "start_model", "record_reply", "finish"])
async def test_whoever_waits_is_told_that_the_store_fails(tmp_path: Path, verb: str) -> None:
    def full(name: str) -> None:
        if name == verb:
            raise StoreUnwritable("the disk is full")

    async with MemoryHome(SystemClock()) as home:
        process = Process(home)
        process.before = full
        tools = ToolRegistry()
        tools.register(exec_)
        model = ScriptedProvider(asks_for("exec_", text="a"), "done")
        agent = AgentLoop(MessageBus(process.journal), model, tmp_path, tools=tools)
        with pytest.raises(StoreUnwritable, match="the disk is full"):
            await agent.process_direct("go", "cli:s")
        process.before = lambda _: None
        assert await agent.process_direct("again", "cli:s") in {"done", "echo: again"}
        assert home.verify("cli:s") > 0


# An agent of one's own parts


async def test_an_agent_is_opened_over_ones_own_parts(tmp_path: Path) -> None:
    events: list[RunEvent] = []
    database = tmp_path / "elsewhere" / "runs.db"
    database.parent.mkdir()
    provider = ScriptedProvider(asks_for("exec_", text="seven"), "It is seven.")
    async with Agent.open(
        tmp_path / "home",
        provider=provider,
        tools=[exec_],
        database_url=f"sqlite:///{database}",
        ids=CountingIds(),
        observer=events.append,
    ) as agent:
        result = await agent.run(RunInput(messages=[HELLO]))
        assert result.message == "It is seven."
        assert result.run_id.startswith("run-00000")  # as CountingIds makes them
    assert database.exists()
    assert not provider.closed
    assert [event.kind for event in events if event.run_id == result.run_id][-1] is EventKind.END
    assert "seven" in [event.payload.get("text") for event in events]


class Shouting:
    """A context manager that hides tools and puts the question into capitals."""

    def build_context(self, request: ModelRequest) -> ModelRequest:
        *before, last = request.messages
        shouted = msgspec.structs.replace(last, content=str(last.content).upper())
        return msgspec.structs.replace(request, messages=(*before, shouted), tools=())


class Counting:
    """An executor that counts the calls, and answers one of them itself."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def execute(self, tool: AnyTool, args: Any, context: CallContext) -> str | ToolOutput:
        self.calls.append(f"{tool.name} of {context.session_key}")
        return "made up" if tool.name == "lookup" else await tool.run(args, context)


def lookup(text: str) -> str:
    """Looks it up."""
    raise AssertionError(text)


async def test_an_agent_takes_a_context_manager_a_registry_and_an_executor(tmp_path: Path) -> None:
    registry, executor = ToolRegistry(), Counting()
    registry.register(exec_)
    registry.register(lookup)
    provider = ScriptedProvider(
        asks_for("exec_", text="seven"), asks_for("lookup", text="x"), "It is seven."
    )
    async with Agent.open(
        tmp_path,
        provider=provider,
        registry=registry,
        executor=executor,
        context_manager=Shouting(),
    ) as agent:
        events = [
            event
            async for event in agent.run_stream(RunInput(messages=[HELLO], session_key="api:s"))
        ]
    assert executor.calls == ["exec_ of api:s", "lookup of api:s"]
    results = [event.payload.get("text") for event in events if event.kind == "tool_result"]
    assert results == ["seven", "made up"]
    assert str(provider.requests[0].messages[-1].content).endswith("HELLO")
    assert provider.requests[0].tools == ()


async def test_a_registry_takes_the_place_of_all_tools(tmp_path: Path) -> None:
    registry, provider = ToolRegistry(), ScriptedProvider("hi")
    registry.register(exec_)
    async with Agent.open(tmp_path, provider=provider, registry=registry) as agent:
        await agent.run(RunInput(messages=[HELLO]))
        with pytest.raises(UsageError, match="there is no tool"):
            await agent.run(RunInput(messages=[HELLO], allowed_tools=("read_file",)))
    assert [spec.name for spec in provider.requests[0].tools] == ["exec_"]
    with pytest.raises(UsageError, match="registry"):
        async with Agent.open(tmp_path, registry=registry, tools=[exec_]):
            pass


async def test_a_store_that_is_given_is_used_and_stays_open(tmp_path: Path) -> None:
    store, question = in_memory_database(), RunInput(messages=[HELLO], run_id="r")
    async with Agent.open(tmp_path, provider=ScriptedProvider("once"), store=store) as agent:
        first = await agent.run(question)
    async with Agent.open(tmp_path, provider=ScriptedProvider("twice"), store=store) as agent:
        assert await agent.run(question) == first
        assert first.message == "once"
    assert not (tmp_path / "state.db").exists()
    with pytest.raises(UsageError, match="store"):
        async with Agent.open(tmp_path, store=store, database_url="sqlite:///x.db"):
            pass
    await store.close()


async def test_an_observer_that_fails_harms_nothing(tmp_path: Path) -> None:
    def fail(_event: RunEvent) -> None:
        raise ValueError("mine")

    async with Agent.open(tmp_path, provider=ScriptedProvider("fine"), observer=fail) as agent:
        assert (await agent.run(RunInput(messages=[HELLO]))).message == "fine"


async def test_a_tool_that_cannot_be_is_refused_when_the_agent_is_opened(tmp_path: Path) -> None:
    def read_file(path: str) -> str:
        """Another one of that name."""
        return path

    with pytest.raises(UsageError, match="read_file is registered already"):
        async with Agent.open(tmp_path, provider=ScriptedProvider(), tools=[read_file]):
            pass


async def test_inputs_are_checked_before_they_go_to_a_running_gateway(tmp_path: Path) -> None:
    async with (
        Agent.open(tmp_path, provider=ScriptedProvider("seen")),
        Agent.connect(tmp_path) as joined,
    ):
        with pytest.raises(UsageError, match="messages: expected array"):
            await joined.run(msgspec.structs.replace(RunInput(messages=[HELLO]), messages="hi"))
        long = [{"role": "user", "content": "x" * 17_000_000}]
        with pytest.raises(UsageError, match="messages: a running nanobot accepts"):
            await joined.run(RunInput(messages=long))
        assert (await joined.run(RunInput(messages=[HELLO]))).message == "seen"
