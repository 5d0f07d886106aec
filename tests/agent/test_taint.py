"""What comes from outside is marked in the log, and a run that sees it knows."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.messages import Attachment, Origin
from nanobot.session.entries import ToolResultEntry, UserEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER, OWNER
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput
from tests.agent.tooling import Args, Recorder, bodies


async def test_a_result_from_outside_taints_the_calls_after_it(recorder: Recorder) -> None:
    fetch = msgspec.structs.replace(recorder.tool("fetch", Effect.NONE), taints=True)
    look = recorder.tool("look", Effect.NONE)
    model = ScriptedProvider(asks_for("look"), asks_for("fetch"), asks_for("look"), "done")
    async with gateway(model, tools=[fetch, look]) as bot:
        await bot.channel.push("go")
        await bot.channel.pop()
        assert [result.tainted for result in bodies(bot, ToolResultEntry)] == [False, True, False]
        assert [context.tainted for context in recorder.contexts] == [False, False, True]


async def test_one_result_may_be_from_outside_where_others_of_its_tool_are_not() -> None:
    recorder = Recorder()
    output = ToolOutput("found", tainted=True)

    async def run(args: Args, context: CallContext) -> ToolOutput:
        return output if args.text else ToolOutput("nothing")

    search = Tool(
        name="find", description="Finds.", args=Args, run=run, effect=Effect.NONE, taints=False
    )
    look = recorder.tool("look", Effect.NONE)
    some = asks_for("find", "", text="x")
    model = ScriptedProvider(asks_for("find"), asks_for("look"), some, asks_for("look"), "done")
    async with gateway(model, tools=[search, look]) as bot:
        await bot.channel.push("go")
        await bot.channel.pop()
    assert [context.tainted for context in recorder.contexts] == [False, True]


async def test_a_later_run_that_still_sees_it_is_tainted_until_a_new_conversation() -> None:
    recorder = Recorder()
    fetch = msgspec.structs.replace(recorder.tool("fetch", Effect.NONE), taints=True)
    look = recorder.tool("look", Effect.NONE)
    model = ScriptedProvider(
        asks_for("fetch"), "one", asks_for("look"), "two", asks_for("look"), "three"
    )
    async with gateway(model, tools=[fetch, look]) as bot:
        for text in ("fetch it", "look", "/new", "look"):
            await bot.channel.push(text)
            await bot.channel.pop()
        assert [context.tainted for context in recorder.contexts] == [False, True, False]


@pytest.mark.parametrize(
    ("sender", "files", "origin", "tainted"),
    [
        (OWNER, 0, Origin.USER, False),
        (OWNER, 1, Origin.USER, False),
        (MEMBER, 0, Origin.USER, False),
        (MEMBER, 1, Origin.USER, True),
        (OWNER, 0, Origin.WEBHOOK, True),
        (OWNER, 0, Origin.EVENT, False),  # what it holds decides
        (OWNER, 0, Origin.CRON, False),
    ],
)
async def test_files_of_others_and_what_machines_send_taint(
    sender: str, files: int, origin: Origin, bot: FakeGateway, *, tainted: bool
) -> None:
    attachments = (Attachment(kind="document", name="a.txt"),) * files
    await bot.channel.push("read", sender=sender, attachments=attachments, origin=origin)
    await bot.channel.pop()
    assert [entry.tainted for entry in bodies(bot, UserEntry)] == [tainted]
