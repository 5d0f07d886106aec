"""Our tools, against the checks that are shipped for authors of others."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from nanobot.errors import ToolError
from nanobot.messages import Address, OutboundMessage
from nanobot.operations.engine import Engine
from nanobot.plugins.kit import promises
from nanobot.seam.installed import installed
from nanobot.testing import tools as tool_checks
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput
from tests.tools.examples import examples

CHAT = Address("cli", "direct")


@pytest.mark.parametrize("check", tool_checks.CHECKS, ids=lambda check: check.__name__)
async def test_every_tool_of_ours_keeps_what_the_port_promises(
    engine: Engine, check: tool_checks.Check
) -> None:
    listed = [tool for tool, _, source in engine.tools.listed() if source == "built-in"]
    own = [name for found in installed().found.values() for name in found.plugin.reserves]
    reserved = {name for name in own if "*" not in name}
    assert {tool.name for tool in listed} == reserved
    known = examples()
    for tool in listed:
        assert tool.name in known, f"name {tool.name} in tool_examples.py of its plugin's tests"
        case = tool_checks.ToolCase(
            tool=tool,
            good=known[tool.name].good,
            failing=known[tool.name].failing,
            context=msgspec.structs.replace(tool_checks.context(), address=CHAT),
        )
        try:
            await check(case)
        except Exception as error:
            error.add_note(f"the tool is {tool.name}")
            raise


class Args(msgspec.Struct, frozen=True):
    word: str
    count: int = 1


async def repeat(args: Args, context: CallContext) -> str:
    if args.count < 0:
        raise ToolError("count: a word cannot be said less than not at all")
    return args.word * args.count


GOOD_TOOL = Tool(name="repeat", description="Repeats.", args=Args, run=repeat, effect=Effect.NONE)


async def silent(args: Args, context: CallContext) -> str:
    return ""


async def stubborn(args: Args, context: CallContext) -> str:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)
            if args.count < 0:
                return "done"


async def leaving_rows(args: Args, context: CallContext) -> ToolOutput:
    message = OutboundMessage(address=context.address, text="psst", key="k")
    return ToolOutput("done", messages=(message,))


async def untyped(args: Args, context: CallContext) -> str:
    if args.count < 0:
        return "fine"
    return {"a": 1}  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("change", "check", "promise"),
    [
        ({"name": "two words"}, tool_checks.is_written_down_whole, "its name is of letters"),
        ({"description": "x" * 2_001}, tool_checks.is_written_down_whole, "is short"),
        ({"effect": "none"}, tool_checks.is_written_down_whole, "effect is not one of"),
        ({"name": "two words"}, tool_checks.has_a_schema, "it can be registered"),
        ({"run": silent}, tool_checks.works_and_says_so, "a result says something"),
        ({"run": leaving_rows}, tool_checks.works_and_says_so, "only a tool of effect `store`"),
        ({"run": silent}, tool_checks.fails_in_words, "make it fail"),
    ],
)
async def test_a_tools_broken_promise_is_named(
    change: dict[str, Any], check: tool_checks.Check, promise: str
) -> None:
    tool = msgspec.structs.replace(GOOD_TOOL, **change)
    case = tool_checks.ToolCase(tool=tool, good={"word": "a"}, failing={"word": "a", "count": -1})
    with pytest.raises(AssertionError, match=promise):
        await check(case)


async def test_work_that_does_not_end_is_named() -> None:
    over = asyncio.Event()

    async def work() -> None:
        while not over.is_set():
            with suppress(asyncio.CancelledError):
                await over.wait()

    asyncio.get_running_loop().call_later(0.3, over.set)
    with pytest.raises(ExceptionGroup) as failed:
        await promises.ends_when_cancelled(work(), "a call", patience=0.1)
    assert failed.group_contains(AssertionError, match="a call ends when it is cancelled")
