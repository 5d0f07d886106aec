"""Tools that a prompt does not list: found, called by their own names, judged as what they are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import ToolArgumentsError
from nanobot.messages import Role
from nanobot.plugins.common.files.memory_blobs import MemoryBlobs
from nanobot.plugins.mcp import tool_names as offer
from nanobot.plugins.mcp.foreign_schema import parse_foreign
from nanobot.plugins.mcp.pins import MemoryPins
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.servers import McpServers
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.mcp.tool_search import finding_tools
from nanobot.providers.base import ToolCall
from nanobot.session.entries import ReplyEntry, ToolResultEntry, ToolStartedEntry
from nanobot.system import SystemClock
from nanobot.testing import gateway
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.tools.base import AnyTool, CallContext, Effect, RawArgs, Tool
from nanobot.tools.registry import MAX_LISTED, ToolRegistry
from tests.agent.tooling import bodies

PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "enum": ["a", "b"]},
        "count": {"type": ["integer", "null"]},
        "odd": {"type": "no such type"},
        "other": True,
    },
    "required": ["path"],
    "additionalProperties": False,
}
EVERYBODY = frozenset({Role.OWNER, Role.MEMBER})


def lazy(name: str, description: str = "A tool.") -> AnyTool:
    async def run(args: RawArgs, _: CallContext) -> str:
        return f"{name} got {msgspec.json.encode(args.values).decode()}"

    return Tool(
        name=name,
        description=description,
        args=RawArgs,
        run=run,
        effect=Effect.WORLD,
        taints=True,
        parameters=PARAMETERS,
        lazy=True,
    )


def may(_: str) -> bool:
    return True


def registry(count: int) -> ToolRegistry:
    tools = ToolRegistry()
    for tool in finding_tools(tools, ["it"], EVERYBODY):
        tools.register(tool)
    for number in range(count):
        tools.register(lazy(f"mcp__it__tool_{number}"))
    return tools


def test_many_lazy_tools_are_not_listed_and_few_are() -> None:
    few, many = registry(MAX_LISTED), registry(MAX_LISTED + 1)
    assert len(few.offered(Role.OWNER, may)) == MAX_LISTED + 2
    assert [tool.name for tool in many.offered(Role.OWNER, may)] == ["call_tool", "find_tools"]
    named = many.offered(Role.OWNER, lambda name: name.endswith("_7"))
    assert [tool.name for tool in named] == ["mcp__it__tool_7"]


async def test_a_tool_called_through_another_is_in_the_log_and_judged_as_itself() -> None:
    call = asks_for("call_tool", name="mcp__it__move", arguments={"path": "a"})
    provider = ScriptedProvider(call, "done")
    tools = ToolRegistry()
    finding = finding_tools(tools, ["it"], EVERYBODY)
    async with gateway(provider, tools=[*finding, lazy("mcp__it__move")]) as bot:
        await bot.channel.push("go")
        await bot.settle()
        (reply, *_) = bodies(bot, ReplyEntry)
        assert reply.tool_calls[0].name == "mcp__it__move"
        assert [entry.name for entry in bodies(bot, ToolStartedEntry)] == ["mcp__it__move"]
        (result,) = bodies(bot, ToolResultEntry)
        assert (result.name, result.ok, result.tainted) == ("mcp__it__move", True, True)
        assert result.text == 'mcp__it__move got {"path":"a"}'


@pytest.mark.parametrize(
    "arguments",
    ["", "null", "[", '{"name": 5}', '{"name": ""}', '{"name": "call_tool"}', '{"arguments": {}}'],
)
async def test_a_call_of_nothing_is_told_what_it_lacks(arguments: str) -> None:
    call = ToolCall("1", "call_tool", arguments)
    assert registry(1).resolved(call) == call


def test_a_tool_that_fails_to_say_what_a_call_stands_for_keeps_the_call() -> None:
    def fails(_: ToolCall) -> ToolCall:
        raise ValueError("broken")

    tools = ToolRegistry()
    tools.register(msgspec.structs.replace(lazy("broken"), stands_for=fails))
    call = ToolCall("1", "broken", "{}")
    assert tools.resolved(call) == call


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ('{"path": "a"}', '{"path":"a"}'),
        ('"{\\"path\\": \\"a\\"}"', '{"path": "a"}'),
        ("null", "{}"),
    ],
)
def test_arguments_within_arguments_are_understood(inner: str, text: str) -> None:
    call = ToolCall("1", "call_tool", f'{{"name": "mcp__it__tool_0", "arguments": {inner}}}')
    assert registry(1).resolved(call) == ToolCall("1", "mcp__it__tool_0", text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", '"path": required'),
        ('{"path": null}', '"path": required'),
        ('{"path": 5}', '"path": expected string'),
        ('{"path": "c"}', '"path": must be one of'),
        ('{"path": "a", "count": 1.5}', '"count": expected integer or null'),
        ('{"path": "a", "count": true}', '"count": expected integer or null'),
        ('{"path": "a", "more": 1}', '"more": no such argument'),
    ],
)
def test_arguments_that_do_not_fit_a_foreign_schema_are_told(text: str, why: str) -> None:
    with pytest.raises(ToolArgumentsError, match=why):
        parse_foreign(PARAMETERS, text)


def test_what_a_foreign_schema_leaves_open_is_let_through() -> None:
    text = '{"path": "a", "count": null, "odd": [1], "other": {}}'
    assert parse_foreign(PARAMETERS, text).values == msgspec.json.decode(text)


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
WORDS = st.sampled_from(
    ["type", "properties", "required", "enum", "anyOf", "title", "items", "$ref"]
)


@pytest.mark.process
@given(st.dictionaries(WORDS | TEXT, JSON, max_size=6), st.dictionaries(TEXT, JSON))
def test_whatever_a_server_calls_a_schema_is_one_and_takes_any_arguments_or_says_why(
    given_schema: dict[str, object], arguments: dict[str, object]
) -> None:
    shaped = offer.schema(given_schema)
    assert shaped["type"] == "object"
    assert isinstance(shaped["properties"], dict)
    text = msgspec.json.encode(shaped)
    assert len(text) <= offer.MAX_SCHEMA_BYTES
    with suppress(ToolArgumentsError):
        parse_foreign(shaped, msgspec.json.encode(arguments).decode())


@given(st.text(min_size=1, max_size=64, alphabet="abcXYZ_-"), st.lists(st.text(), max_size=8))
def test_names_fit_every_provider_and_stay_apart(server: str, tools: list[str]) -> None:
    names = offer.names(server, tools)
    assert set(names.values()) == set(tools)
    for name in names:
        assert len(name) <= offer.MAX_NAME
        assert name.isascii()
        assert name.replace("_", "").replace("-", "").isalnum()


async def test_prompts_are_the_same_before_and_after_a_server_answers() -> None:
    tools = ToolRegistry()
    settings = {"it": McpSettings(command="x"), "off": McpSettings(enabled=False, command="x")}
    servers = McpServers(
        settings, tools, SystemClock(), {}, ServerPlace(Path(), Path()), MemoryBlobs(), MemoryPins()
    )
    for tool in servers.tools():
        tools.register(tool)
    before = tools.offered(Role.OWNER, may)
    for number in range(MAX_LISTED + 1):
        tools.register(lazy(f"mcp__it__tool_{number}"))
    assert tools.offered(Role.OWNER, may) == before
    assert "off" not in before[1].description
