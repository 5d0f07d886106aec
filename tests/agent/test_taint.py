"""What comes from outside is marked in the log, and a run that sees it knows."""

from __future__ import annotations

import msgspec
import pytest

from nanobot import labels
from nanobot.labels import Privacy, Speaker
from nanobot.messages import Attachment, Origin
from nanobot.session.entries import ToolResultEntry, UserEntry, decode
from nanobot.session.labelling import label_of
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
        (OWNER, 1, Origin.USER, True),  # passed on
        (MEMBER, 0, Origin.USER, False),
        (MEMBER, 1, Origin.USER, True),
        (OWNER, 0, Origin.WEBHOOK, True),
        (OWNER, 0, Origin.EVENT, False),  # what it holds decides
        (OWNER, 0, Origin.CRON, False),
    ],
)
async def test_files_and_what_machines_send_taint(
    sender: str, files: int, origin: Origin, bot: FakeGateway, *, tainted: bool
) -> None:
    attachments = (Attachment(kind="document", name="a.txt"),) * files
    await bot.channel.push("read", sender=sender, attachments=attachments, origin=origin)
    await bot.channel.pop()
    assert [entry.tainted for entry in bodies(bot, UserEntry)] == [tainted]


async def test_the_label_of_a_result_names_its_tool_and_the_run_has_the_join(
    recorder: Recorder,
) -> None:
    fetch = msgspec.structs.replace(recorder.tool("fetch", Effect.NONE), taints=True)
    look = recorder.tool("look", Effect.NONE)
    model = ScriptedProvider(asks_for("fetch"), asks_for("look"), "done")
    async with gateway(model, tools=[fetch, look]) as bot:
        await bot.channel.push("go")
        await bot.channel.pop()
        results = [labels.read(result.label) for result in bodies(bot, ToolResultEntry)]
    assert results[0].tools == {"fetch"}
    assert results[0].speakers == {Speaker.TOOL}
    assert results[1].speakers == frozenset()
    first, second = (context.label for context in recorder.contexts)
    assert first.speakers == {Speaker.OWNER}
    assert second.speakers == {Speaker.OWNER, Speaker.TOOL}
    assert second.privacy is Privacy.PERSON


async def test_a_member_in_the_conversation_leaves_its_label_in_a_later_run(
    recorder: Recorder,
) -> None:
    look = recorder.tool("look", Effect.NONE)
    model = ScriptedProvider("hello", asks_for("look"), "done", asks_for("look"), "done")
    async with gateway(model, tools=[look]) as bot:
        for text, sender in (("hi", MEMBER), ("look", OWNER), ("/new", OWNER), ("look", OWNER)):
            await bot.channel.push(text, sender=sender)
            await bot.channel.pop()
    assert [context.label.speakers for context in recorder.contexts] == [
        {Speaker.OWNER, Speaker.MEMBER},
        {Speaker.OWNER},
    ]


async def test_entries_from_before_labels_are_labelled_by_their_bit() -> None:
    old = b'{"type":"tool_result","call":1,"index":0,"name":"web_fetch","text":"x","tainted":true}'
    assert label_of(decode(old)).tainted
    clean = b'{"type":"tool_result","call":1,"index":0,"name":"read_file","text":"x"}'
    label = label_of(decode(clean))
    assert not label.tainted
    assert label.privacy is Privacy.PERSON
