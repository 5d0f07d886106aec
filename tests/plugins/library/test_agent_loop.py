"""AgentLoop: the library's agent is the gateway's, asked by a program."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from nanobot.agent.loop import AgentLoop, CancelToken
from nanobot.errors import ModelRefused, ToolUnknown, UsageError
from nanobot.messages import Address, EventKind, InboundMessage, RunEvent, Sender
from nanobot.plugins.common.keys.tool_settings import ExecSettings
from nanobot.plugins.library.context_builder import ContextBuilder
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.plugins.library.openai_messages import ContentPart, OpenAIMessage
from nanobot.plugins.library.streamed_text import StreamedText
from nanobot.providers.base import ImagePart, ModelProfile, ModelRequest
from nanobot.session.entries import CancelEntry, UserEntry
from nanobot.testing.gateway import MemoryHome, Process
from nanobot.testing.model import Held, ScriptedProvider, asks_for, last_text
from nanobot.tools.base import CallContext, Effect, Tool
from nanobot.tools.registry import ToolRegistry
from tests.pictures import png
from tests.stored import consuming


class Nothing(msgspec.Struct, frozen=True):
    pass


class World:
    """A store that outlives its processes, and an agent over it."""

    def __init__(self, home: MemoryHome, folder: Path) -> None:
        self.home = home
        self.folder = folder

    def agent(self, *script: object, tools: ToolRegistry | None = None) -> AgentLoop:
        self.process = Process(self.home)
        self.provider = ScriptedProvider(*script)  # type: ignore[arg-type]
        self.bus = MessageBus(self.process.journal)
        return AgentLoop(
            bus=self.bus,
            provider=self.provider,
            workspace=self.folder,
            tools=tools or ToolRegistry(),
            retry_delay=0.0,
        )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with MemoryHome() as home:
        yield World(home, tmp_path)


def told(text: str) -> InboundMessage:
    return InboundMessage(
        address=Address("app", "1"),
        message_id=text,
        dedupe_key=text,
        sender=Sender("ann"),
        text=text,
        sent_at=0.0,
    )


async def test_a_reply_comes_back_to_who_asked_and_goes_nowhere_else(world: World) -> None:
    agent = world.agent()
    assert await agent.process_direct("hello") == "echo: hello"
    assert await consuming(world.process.journal).oldest_owed() is None


async def test_a_session_goes_on_from_call_to_call(world: World) -> None:
    agent = world.agent("one", "two")
    await agent.process_direct("first")
    await agent.process_direct("second")
    assert len(world.provider.requests[1].messages) == 4
    session = await agent.sessions.get_or_create("cli:direct")
    assert [message["content"] for message in session.history] == ["first", "one", "second", "two"]


async def test_sessions_are_apart(world: World) -> None:
    agent = world.agent()
    await agent.process_direct("first", session_key="cli:one")
    await agent.process_direct("second", session_key="cli:two")
    assert len(world.provider.requests[1].messages) == 2
    assert (await agent.sessions.get_or_create("cli:three")).history == ()


async def test_run_serves_the_bus_until_it_is_stopped(world: World) -> None:
    agent = world.agent()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(agent.run())
        await world.bus.publish_inbound(told("over the bus"))
        assert (await world.bus.consume_outbound()).text == "echo: over the bus"
        assert await agent.process_direct("beside it") == "echo: beside it"
        agent.stop()
    assert running.done()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(agent.run())
        await world.bus.publish_inbound(told("and once more"))
        assert (await world.bus.consume_outbound()).text == "echo: and once more"
        agent.stop()


async def test_the_text_of_every_model_call_is_streamed(world: World) -> None:
    agent = world.agent(asks_for("clock", "I will look. "), "It is noon.", tools=clock([]))
    pieces = [piece async for piece in agent.process_message("what time is it?", "cli:direct")]
    assert len(pieces) > 2
    assert "".join(pieces) == "I will look. It is noon."


async def test_a_past_that_is_given_takes_the_place_of_the_sessions_own(world: World) -> None:
    agent = world.agent()
    await agent.process_direct("never seen")
    past = [{"role": "user", "content": "I am Ann"}, {"role": "assistant", "content": "Hi Ann"}]
    async for _ in agent.process_message("who am I?", "cli:direct", context=past):
        pass
    _, *seen = world.provider.requests[1].messages
    assert [message.content for message in seen[:2]] == ["I am Ann", "Hi Ann"]
    assert last_text(world.provider.requests[1]) == "who am I?"
    assert len(seen) == 3


async def test_nothing_is_yielded_after_a_cancel_and_the_run_is_over_for_good(
    world: World,
) -> None:
    agent, token = world.agent(Held("so far "), "never"), CancelToken()
    pieces = []
    async for piece in agent.process_message("go on", "cli:direct", cancel_token=token):
        pieces.append(piece)
        token.cancel()
    assert pieces == ["so far "]
    bodies = [entry.body for entry in world.home.entries("cli:direct")]
    assert isinstance(bodies[-1], CancelEntry)
    assert await agent.process_direct("again") == "never"


async def test_a_cancel_while_the_model_says_nothing_ends_the_run(world: World) -> None:
    held, token = Held(), CancelToken()
    agent = world.agent(held)

    async def listen() -> list[str]:
        stream = agent.process_message("go on", "cli:direct", cancel_token=token)
        return [piece async for piece in stream]

    async with asyncio.TaskGroup() as tasks:
        heard = tasks.create_task(listen())
        await held.reached.wait()
        token.cancel()
    assert heard.result() == []
    assert isinstance(world.home.entries("cli:direct")[-1].body, CancelEntry)


async def test_a_token_cancelled_before_asks_nothing(world: World) -> None:
    agent, token = world.agent(), CancelToken()
    token.cancel()
    assert [p async for p in agent.process_message("hi", "cli:direct", cancel_token=token)] == []
    assert world.home.entries("cli:direct") == []


async def test_what_a_crash_cut_off_is_answered_by_the_next_process(world: World) -> None:
    """The caller died with its process; its run goes on, under the terms it was asked with."""
    held = Held()
    agent = world.agent(held)
    call = asyncio.create_task(agent.process_direct("survive"))
    await held.reached.wait()
    world.process.dead = True
    call.cancel()
    await asyncio.wait((call,))

    later = world.agent("back", "next")
    assert await later.process_direct("and you?") == "next"
    texts = [e.body.text for e in world.home.entries("cli:direct") if isinstance(e.body, UserEntry)]
    assert texts == ["survive", "and you?"]
    assert await consuming(world.process.journal).oldest_owed() is None


async def test_a_failure_is_told_to_the_caller(world: World) -> None:
    agent = world.agent(ModelRefused("no such key"))
    assert "no such key" in await agent.process_direct("hello")


def clock(calls: list[str], failures: int = 0, effect: Effect = Effect.NONE) -> ToolRegistry:
    async def run(_: Nothing, context: CallContext) -> str:
        calls.append(context.key)
        if len(calls) <= failures:
            raise OSError("the clock is stuck")
        return "noon"

    registry = ToolRegistry()
    tool = Tool(name="clock", description="Time.", args=Nothing, run=run, effect=effect)
    registry.register(tool)
    return registry


async def test_a_call_without_effect_that_failed_inside_is_made_again(world: World) -> None:
    calls: list[str] = []
    agent = world.agent(asks_for("clock"), "noon", tools=clock(calls, failures=2))
    await agent.process_direct("time?")
    assert len(calls) == 3
    assert world.provider.requests[1].messages[-1].content == "noon"


async def test_a_call_that_may_have_done_something_is_not_made_again(world: World) -> None:
    calls: list[str] = []
    tools = clock(calls, failures=1, effect=Effect.WORLD)
    agent = world.agent(asks_for("clock"), "?", tools=tools)
    await agent.process_direct("time?")
    assert len(calls) == 1
    assert "failed inside" in str(world.provider.requests[1].messages[-1].content)


async def test_a_tool_can_be_called_without_a_model(world: World) -> None:
    agent = world.agent(tools=clock([]))
    assert await agent.execute_tool("clock", {}) == "noon"
    with pytest.raises(ToolUnknown):
        await agent.execute_tool("calendar", {})


@pytest.mark.parametrize("given", [{"brave_api_key": "k"}, {"exec_config": ExecSettings()}])
def test_what_is_for_the_default_tools_is_refused_beside_others(
    tmp_path: Path, given: dict[str, object]
) -> None:
    (name,) = given
    with pytest.raises(UsageError, match=name):
        AgentLoop(
            MessageBus(),
            ScriptedProvider(),
            tmp_path,
            tools=ToolRegistry(),
            **given,  # type: ignore[arg-type]
        )


class Seer(ScriptedProvider):
    """A model that takes pictures."""

    def profile(self, model: str) -> ModelProfile:
        return msgspec.structs.replace(super().profile(model), images=True)


def pictures(request: ModelRequest) -> list[str]:
    return [
        part.data
        for message in request.messages
        if not isinstance(message.content, str)
        for part in message.content
        if isinstance(part, ImagePart)
    ]


async def said(agent: AgentLoop, text: str, media: object = None) -> str:
    pieces = agent.process_message(text, "cli:media", media=media)  # type: ignore[arg-type]
    return "".join([piece async for piece in pieces])


async def test_files_come_with_a_message_as_from_a_chat(tmp_path: Path) -> None:
    outside = tmp_path / "notes.txt"
    outside.write_text("tea at five")
    model, bus = Seer("a dot", "still a dot"), MessageBus()
    agent = AgentLoop(bus, model, tmp_path / "w", tools=ToolRegistry())
    assert await said(agent, "what is it?", [png(), outside, str(outside), b"plain"]) == "a dot"
    assert await said(agent, "and now?") == "still a dot"
    assert [len(pictures(request)) for request in model.requests] == [1, 1]
    assert pictures(model.requests[0]) == [base64.b64encode(png()).decode()]
    session = await agent.sessions.get_or_create("cli:media")
    text = str(model.requests[0].messages[-1])
    assert "notes.txt" in text
    assert session.history
    kept = sorted(path.read_bytes() for path in (tmp_path / "w").rglob("*") if path.is_file())
    assert kept == sorted([png(), b"tea at five", b"plain"])
    await bus.close()


async def test_a_picture_needs_no_words(tmp_path: Path) -> None:
    model, bus = Seer("a dot"), MessageBus()
    agent = AgentLoop(bus, model, tmp_path, tools=ToolRegistry())
    assert await said(agent, "", [png()]) == "a dot"
    with pytest.raises(UsageError, match="characters"):
        await said(agent, "")
    await bus.close()


async def test_pictures_are_shown_by_a_later_loop_from_the_folder_it_was_given(
    world: World, tmp_path: Path
) -> None:
    blobs = tmp_path / "blobs"
    for media, seen in (([png()], 1), ([], 1)):
        model = Seer("a dot")
        bus = MessageBus(Process(world.home).journal)
        agent = AgentLoop(bus, model, tmp_path / "w", tools=ToolRegistry(), blobs=blobs)
        await said(agent, "what is it?", media)
        assert len(pictures(model.requests[0])) == seen
    model = Seer("gone")
    forgetful = AgentLoop(
        MessageBus(Process(world.home).journal), model, tmp_path / "w", tools=ToolRegistry()
    )
    assert await said(forgetful, "and now?") == "gone"
    assert not pictures(model.requests[0])
    assert "not here any more" in str(model.requests[0].messages)


@pytest.mark.parametrize(
    ("media", "why"),
    [
        (["nowhere.png"], "nowhere.png cannot be read"),
        (["/"], "/ cannot be read"),
        ([b""], "1 byte to 20 MB"),
        ([bytes(20_000_001)], "1 byte to 20 MB"),
        (["a\0b"], "cannot be read"),
        ("picture.png", "a list of files"),
        (b"bytes", "a list of files"),
    ],
)
async def test_files_that_cannot_be_given_are_named_and_nothing_is_asked(
    media: object, why: str, tmp_path: Path
) -> None:
    model, bus = Seer("never"), MessageBus()
    agent = AgentLoop(bus, model, tmp_path, tools=ToolRegistry())
    with pytest.raises(UsageError, match=why):
        await said(agent, "look", media)
    assert not model.requests
    await bus.close()


SOURCE_TOOLS = {
    *("read_file", "write_file", "edit_file", "list_dir", "exec"),
    *("web_search", "web_fetch", "message", "spawn", "cron"),
}


async def test_the_default_tools_are_all_ten(tmp_path: Path) -> None:
    agent = AgentLoop(MessageBus(), ScriptedProvider(), tmp_path / "w", restrict_to_workspace=True)
    names = {definition["function"]["name"] for definition in agent.tools.get_definitions()}
    assert names >= SOURCE_TOOLS
    await agent.execute_tool("write_file", {"path": "a.txt", "content": "kept"})
    assert "kept" in await agent.execute_tool("read_file", {"path": "a.txt"})


def parts(message: OpenAIMessage) -> list[ContentPart]:
    content = message["content"]
    assert isinstance(content, list)
    return content


def test_messages_for_ones_own_model_calls_are_built_like_the_agents(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("Speak in rhymes.")
    (tmp_path / "dot.png").write_bytes(b"png")
    builder = ContextBuilder(tmp_path)
    messages = builder.build_messages([], "what is it?", media=[tmp_path / "dot.png"])
    assert "Speak in rhymes." in messages[0]["content"]
    assert [part["type"] for part in parts(messages[1])] == ["image_url", "text"]
    builder.add_assistant_message(messages, "", [{"id": "c1", "type": "function"}])
    builder.add_tool_result(messages, "c1", "clock", "noon")
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    with pytest.raises(UsageError):
        builder.build_messages([], "and this?", media=[tmp_path / "SOUL.md"])


def test_text_that_a_slow_listener_lost_is_made_up_for() -> None:
    def event(kind: EventKind, text: str, call: int) -> RunEvent:
        return RunEvent(
            run_id="r", session_key="s", model_call=call, seq=1, kind=kind, at=0.0,
            payload={"text": text},
        )  # fmt: skip

    spoken = StreamedText()
    heard = [
        spoken.added_by(event(EventKind.MODEL_DELTA, "Hello", 1)),
        spoken.added_by(event(EventKind.ASSISTANT_MESSAGE, "Hello world", 1)),
        spoken.added_by(event(EventKind.ASSISTANT_MESSAGE, "Bye", 2)),
    ]
    assert heard == ["Hello", " world", "Bye"]


def test_what_follows_an_answer_that_was_held_back_is_set_apart_from_it() -> None:
    spoken = StreamedText()
    event = RunEvent(
        run_id="r",
        session_key="s",
        model_call=1,
        seq=1,
        kind=EventKind.ASSISTANT_MESSAGE,
        at=0.0,
        payload={"text": "I sent it"},
    )
    objected = msgspec.structs.replace(
        event, kind=EventKind.STATUS, payload={"state": "objected", "why": "no"}
    )
    second = msgspec.structs.replace(event, model_call=2, payload={"text": "I have not"})
    heard = [spoken.added_by(each) for each in (event, objected, second)]
    assert "".join(heard) == "I sent it\n\nI have not"
