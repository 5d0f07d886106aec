"""Outgoing messages and past tool calls as they are listed, retried and discarded."""

from __future__ import annotations

from collections import deque

import msgspec
import pytest

from nanobot.errors import ChatGone, NanobotError
from nanobot.plugins.runs.views import ToolCallView
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import SendFailure
from tests.agent.tooling import Recorder
from tests.operations.test_stored import talk
from tests.plugins.runs.sight import call


async def test_a_dead_message_is_sent_again_on_request(bot: FakeGateway) -> None:
    bot.channel.failures["1"] = deque([SendFailure(ChatGone("blocked"))])
    await bot.channel.push("hello")
    await bot.settle()
    (dead,) = await call(bot, "outbox list", state="dead")
    assert (dead.address, dead.error, dead.receipt) == ("fake:1", "blocked", None)
    again = await call(bot, "outbox retry", id=dead.id)
    assert again.state == "pending"
    assert (await bot.channel.pop()).text == "echo: hello"
    await bot.settle()
    (sent,) = await call(bot, "outbox list")
    assert (sent.state, sent.receipt) == ("sent", bot.channel.sent[0].id)
    with pytest.raises(NanobotError, match="is sent: only dead messages"):
        await call(bot, "outbox retry", id=dead.id)
    with pytest.raises(NanobotError, match="is sent: it cannot be dropped"):
        await call(bot, "outbox drop", id=dead.id)


async def test_a_dropped_message_is_never_sent(bot: FakeGateway) -> None:
    bot.channel.failures["1"] = deque([SendFailure(ChatGone("blocked"))])
    await bot.channel.push("hello")
    await bot.settle()
    (dead,) = await call(bot, "outbox list")
    assert (await call(bot, "outbox drop", id=dead.id)).state == "dropped"
    assert await talk(bot, "next") == ["echo: next"]
    with pytest.raises(NanobotError, match="There is no message 99"):
        await call(bot, "outbox drop", id=99)


async def test_tool_calls_are_listed_with_arguments_and_outcome() -> None:
    recorder = Recorder()
    model = ScriptedProvider(
        asks_for("exec", text="ls"), "done", asks_for("exec", wrong=1), "sorry", "plain"
    )
    async with gateway(model, tools=[recorder.tool()]) as bot:
        await talk(bot, "list", "again", "nothing")
        calls: list[ToolCallView] = await call(bot, "tools history")
        assert [(row.name, row.ok) for row in calls] == [("exec", False), ("exec", True)]
        assert msgspec.json.decode(calls[1].arguments) == {"text": "ls"}
        assert calls[1].text == "exec did ls"
        assert [row.message for row in calls] == ["again", "list"]
        assert await call(bot, "tools history", tool="other") == []
        assert len(await call(bot, "tools history", session="fake:1", limit=1)) == 1
