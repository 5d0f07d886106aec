from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.errors import (
    ToolArgumentsError,
    ToolDenied,
    ToolError,
    ToolTimeout,
    ToolUnknown,
    UsageError,
)
from nanobot.messages import Address, Role
from nanobot.tools.arguments import MAX_DEPTH, parse_arguments
from nanobot.tools.base import CallContext, Effect, Tool
from nanobot.tools.registry import ToolRegistry


class Kind(StrEnum):
    ONE = "one"
    TWO = "two"


class Inner(msgspec.Struct):
    """Not for the model."""

    title: str


class EchoArgs(msgspec.Struct):
    """Not for the model either."""

    path: Annotated[str, msgspec.Meta(description="Where")]
    times: Annotated[int, msgspec.Meta(ge=1)] = 1
    kind: Kind = Kind.ONE
    mode: Literal["r", "w"] = "r"
    note: str | None = None
    inners: list[Inner] = []
    anything: dict[str, Any] = {}


async def echo(args: EchoArgs, context: CallContext) -> str:
    return args.path * args.times


def echo_tool(
    name: str = "echo",
    run: Callable[[EchoArgs, CallContext], Awaitable[str]] = echo,
    timeout: float = 30.0,
    allowed: frozenset[Role] = frozenset({Role.OWNER, Role.MEMBER}),
) -> Tool[EchoArgs]:
    return Tool(
        name=name,
        description="Says it again",
        args=EchoArgs,
        run=run,
        effect=Effect.NONE,
        timeout=timeout,
        allowed=allowed,
    )


def call_by(role: Role = Role.OWNER) -> CallContext:
    return CallContext(
        run_id="r1",
        session_key="cli:direct",
        address=Address("cli", "direct"),
        sender_id="1",
        role=role,
        key="r1:1:0",
    )


def registry_with(*tools: Tool[Any], max_result_chars: int = 10_000) -> ToolRegistry:
    registry = ToolRegistry(max_result_chars)
    for tool in tools:
        registry.register(tool)
    return registry


def test_the_schema_is_flat_closed_and_described() -> None:
    (spec,) = registry_with(echo_tool()).specs()
    text = json.dumps(spec.parameters)
    assert "$ref" not in text
    assert "$defs" not in text
    assert "Not for the model either" not in text
    assert spec.parameters["additionalProperties"] is False
    assert spec.parameters["required"] == ["path"]
    assert spec.parameters["properties"]["path"] == {"type": "string", "description": "Where"}
    assert spec.parameters["properties"]["note"] == {"type": "string"}
    assert spec.parameters["properties"]["kind"]["enum"] == ["one", "two"]
    inner = spec.parameters["properties"]["inners"]["items"]
    assert inner["properties"] == {"title": {"type": "string"}}
    assert inner["additionalProperties"] is False
    assert "title" not in inner


def test_definitions_are_in_the_function_format_and_may_be_changed_by_the_caller() -> None:
    registry = registry_with(echo_tool())
    first = registry.get_definitions()
    assert first[0]["type"] == "function"
    assert first[0]["function"]["name"] == "echo"
    first[0]["function"]["parameters"].clear()
    assert registry.get_definitions()[0]["function"]["parameters"]["type"] == "object"


def test_lists_are_sorted_and_the_same_bytes_in_whatever_order_tools_came() -> None:
    first = registry_with(echo_tool("b"), echo_tool("a"), echo_tool("c"))
    other = registry_with(echo_tool("c"), echo_tool("b"), echo_tool("a"))
    assert [spec.name for spec in first.specs()] == ["a", "b", "c"]
    assert msgspec.json.encode(first.specs()) == msgspec.json.encode(other.specs())


def test_a_role_sees_only_what_it_may_use() -> None:
    registry = registry_with(echo_tool("all"), echo_tool("mine", allowed=frozenset({Role.OWNER})))
    assert [spec.name for spec in registry.specs(Role.OWNER)] == ["all", "mine"]
    assert [spec.name for spec in registry.specs(Role.MEMBER)] == ["all"]
    assert registry.get_definitions(Role.GUEST) == []


def test_a_name_is_registered_once_and_can_be_taken_back() -> None:
    registry = registry_with(echo_tool())
    with pytest.raises(UsageError, match="registered already"):
        registry.register(echo_tool())
    registry.unregister("echo")
    assert registry.specs() == ()
    assert registry.tool("echo") is None
    with pytest.raises(UsageError, match="no tool"):
        registry.unregister("echo")


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "a.b"])
def test_a_name_no_provider_would_take_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        registry_with(echo_tool(name))


def test_arguments_that_contain_themselves_are_refused_when_registered() -> None:
    class Tree(msgspec.Struct):
        children: list[Tree] = []

    globals()["Tree"] = Tree

    async def run(args: Tree, context: CallContext) -> str:
        return ""

    with pytest.raises(UsageError, match="contains itself"):
        registry_with(Tool(name="tree", description="", args=Tree, run=run, effect=Effect.NONE))


async def test_a_call_gets_its_validated_arguments() -> None:
    registry = registry_with(echo_tool())
    assert await registry.execute("echo", '{"path": "ab", "times": 2}', call_by()) == "abab"


async def test_null_for_an_optional_argument_counts_as_absent() -> None:
    registry = registry_with(echo_tool())
    assert await registry.execute("echo", '{"path": "a", "times": null}', call_by()) == "a"


@pytest.mark.parametrize("empty", ["", "  ", "{}", "null"])
def test_no_text_counts_as_no_arguments(empty: str) -> None:
    class Nothing(msgspec.Struct):
        pass

    assert parse_arguments(Nothing, empty) == Nothing()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"path": 5}', "path: expected string, got number"),
        ('{"path": ["a"]}', "path: expected string, got array"),
        ('{"path": null}', "path: expected string, got null"),
        ('{"path": "a", "times": "3"}', "times: expected integer, got string"),
        ('{"path": "a", "times": 0}', "times: expected integer >= 1"),
        ('{"path": "a", "times": 1.5}', "times: expected integer, got number"),
        ('{"path": "a", "kind": "x"}', "kind: invalid enum value 'x'"),
        ('{"path": "a", "inners": [{}]}', "inners[0]: object missing required field `title`"),
        ("{}", "path: required, but missing"),
        ("", "path: required, but missing"),
        ('{"path": "a", "file": 1}', '"file": no such argument; allowed: path, times, kind'),
        ("[1]", "must be a JSON object, not an array"),
        ('"a"', "must be a JSON object, not a string"),
        ("true", "must be a JSON object, not a boolean"),
        ('{"path": "a",}', 'trailing comma in object at byte 13, after "{"path": "a",", at "}"'),
        ('{"path": "lorem ipsum', 'they end in "{"path": "lorem ipsum"'),
        ('{"path": "\\ud800"}', "lone \\u surrogate"),
        ('{"path": "a\nb"}', "are written"),
        ('{"path": "\ud800"}', "half a character"),
        ('{"path": "a", "times": 1e999}', "out of range"),
    ],
)
async def test_wrong_arguments_say_what_is_wrong_and_where(arguments: str, reason: str) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        await registry_with(echo_tool()).execute("echo", arguments, call_by())
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        '{"path": "a", "anything": ' + '{"a":' * 100 + "1" + "}" * 101,
        '{"a":' * 100_000,
        "[" * 100_000,
        '{"path": ' + "[" * 5_000 + "]" * 5_000 + "}",
    ],
)
async def test_deep_nesting_is_refused_and_never_a_recursion_error(arguments: str) -> None:
    with pytest.raises(ToolArgumentsError, match=f"more than {MAX_DEPTH} levels"):
        await registry_with(echo_tool()).execute("echo", arguments, call_by())


async def test_megabytes_of_arguments_are_refused() -> None:
    arguments = json.dumps({"path": "x" * 2_000_000})
    with pytest.raises(ToolArgumentsError, match="smaller calls"):
        await registry_with(echo_tool()).execute("echo", arguments, call_by())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.text() | json_values.map(json.dumps) | st.text('{}[]",:0eE-+.\\u \n\ud800', max_size=30))
@example('{"path": "\ud800"}')
@example('{"\\u0000": 1}')
@example('{"' + "x" * 300 + '\ud800": 1}')
def test_whatever_the_text_is_only_a_tool_error_comes_out_and_it_can_be_stored(text: str) -> None:
    try:
        parse_arguments(EchoArgs, text)
    except ToolError as error:
        str(error).encode()


@given(st.dictionaries(st.sampled_from(["path", "times", "kind", "note", "x"]), json_values))
def test_whatever_the_values_are_only_a_tool_error_comes_out(values: dict[str, Any]) -> None:
    try:
        parsed = parse_arguments(EchoArgs, json.dumps(values))
    except ToolError as error:
        str(error).encode()
    else:
        assert parsed.path == values["path"]


async def test_an_unknown_tool_names_the_nearest_that_the_sender_may_use() -> None:
    registry = registry_with(
        echo_tool("read_file"), echo_tool("readfile", allowed=frozenset({Role.OWNER}))
    )
    with pytest.raises(ToolUnknown, match="Did you mean read_file"):
        await registry.execute("readfil", "{}", call_by(Role.MEMBER))
    with pytest.raises(ToolUnknown) as caught:
        await registry.execute("\ud800zzz", "{}", call_by(Role.MEMBER))
    assert "There are: read_file." in str(caught.value)
    str(caught.value).encode()


async def test_a_role_that_may_not_use_the_tool_is_denied() -> None:
    registry = registry_with(echo_tool(allowed=frozenset({Role.OWNER})))
    with pytest.raises(ToolDenied, match="may not be used for a member"):
        await registry.execute("echo", '{"path": "a"}', call_by(Role.MEMBER))


async def test_a_tool_that_takes_too_long_is_stopped() -> None:
    stopped = False

    async def hang(args: EchoArgs, context: CallContext) -> str:
        nonlocal stopped
        try:
            await asyncio.Event().wait()
        finally:
            stopped = True
        return ""

    registry = registry_with(echo_tool(run=hang, timeout=0.01))
    with pytest.raises(ToolTimeout, match=r"0\.01 s"):
        await registry.execute("echo", '{"path": "a"}', call_by())
    assert stopped


@pytest.mark.parametrize("fault", [TimeoutError("a socket"), KeyError("x")])
async def test_a_fault_of_the_tool_itself_goes_through(fault: Exception) -> None:
    async def fail(args: EchoArgs, context: CallContext) -> str:
        raise fault

    with pytest.raises(type(fault)) as caught:
        await registry_with(echo_tool(run=fail)).execute("echo", '{"path": "a"}', call_by())
    assert caught.value is fault


async def test_a_long_result_keeps_head_and_tail_and_says_what_is_missing() -> None:
    async def long(args: EchoArgs, context: CallContext) -> str:
        return "HEAD" + "x" * 50_000 + "TAIL"

    result = await registry_with(echo_tool(run=long)).execute("echo", '{"path": "a"}', call_by())
    assert len(result) <= 10_000
    assert result.startswith("HEAD")
    assert result.endswith("TAIL")
    kept = result.count("x", 0, result.index("\n\n[")) + result.count("x", result.index("]\n\n"))
    assert f"[... {50_000 - kept:,} characters left out here." in result
    assert "smaller part" in result


async def test_a_result_can_always_be_stored() -> None:
    async def odd(args: EchoArgs, context: CallContext) -> str:
        return "a\ud800b\x00c"

    result = await registry_with(echo_tool(run=odd)).execute("echo", '{"path": "a"}', call_by())
    assert result == "a\ufffdb\ufffdc"
