"""Operations over what is stored, asked in a chat and called by a program."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.errors import UsageError
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.tools import ToolView
from nanobot.session.views import (
    OutboxView,
    RunView,
    SessionView,
)
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import Held, ScriptedProvider
from tests.agent.tooling import Recorder


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    return await Dispatcher(bot.engine).call(operation, arguments)


async def talk(bot: FakeGateway, *texts: str, chat: str = "1") -> list[str]:
    answers = []
    for text in texts:
        await bot.channel.push(text, chat=chat)
        answers.append((await bot.channel.pop(chat)).text)
    await bot.settle()
    return answers


# What programs rely on


def test_the_fields_that_scripts_read_are_there() -> None:
    assert {"id", "session_key", "kind", "state", "parent", "inbound_ids", "usage", "error"} <= set(
        RunView.__struct_fields__
    )
    assert {"id", "address", "key", "state", "attempts", "maybe_duplicate", "receipt"} <= set(
        OutboxView.__struct_fields__
    )
    assert {"key", "title", "has_unread", "updated_at"} <= set(SessionView.__struct_fields__)


# Tools


async def test_the_tools_of_the_model_are_listed_with_their_effects() -> None:
    async with gateway(tools=[Recorder().tool()]) as bot:
        (known,) = await call(bot, "tools list")
        assert isinstance(known, ToolView)
        assert (known.name, known.effect) == ("exec", "world")


# Talking through a call


async def test_a_message_is_put_into_a_session_once_and_answered_in_its_chat() -> None:
    async with gateway() as bot:
        first = await call(bot, "send", text="hello", session="fake:1", key="k")
        again = await call(bot, "send", text="hello", session="fake:1", key="k")
        assert (first.fresh, again.fresh) == (True, False)
        await bot.provider.asked(1)
        await bot.settle()
        assert (first.address, again.address) == ("fake:1", "fake:1")
        reply = await bot.channel.pop()
        assert (str(reply.address), reply.text) == ("fake:1", "echo: hello")
        with pytest.raises(UsageError, match="1 to 1,000,000"):
            await call(bot, "send", text=" ")


async def test_what_is_sent_into_a_session_of_the_terminal_waits_for_the_terminal() -> None:
    async with gateway() as bot:
        sent = await call(bot, "send", text="hello", session="cli:weekly")
        assert sent.address == "cli:weekly"
        await bot.provider.asked(1)
        await bot.settle()
        (row,) = await bot.records.outbox(state="", limit=2)
        assert (row.address, row.text) == ("cli:weekly", "echo: hello")


async def test_a_chat_is_notified_without_the_model_and_only_once(bot: FakeGateway) -> None:
    for _ in range(2):
        posted = await call(bot, "notify", chat="fake:1", text="The backup is done.", key="k")
        assert posted.address == "fake:1"
    message = await bot.channel.pop()
    assert (str(message.address), message.text) == ("fake:1", "The backup is done.")
    await bot.settle()
    assert len(bot.channel.sent) == 1
    assert bot.provider.requests == []
    (*_, last) = await bot.records.entries("fake:1", after=0, limit=10)
    assert last.body
    assert last.body["text"] == "The backup is done."


@pytest.mark.parametrize("chat", ["nowhere:1", "fake", "fake:", "1001"])
async def test_a_chat_that_there_is_not_is_not_notified(chat: str, bot: FakeGateway) -> None:
    with pytest.raises(UsageError, match="write CHANNEL:CHAT \\(channels: fake\\)"):
        await call(bot, "notify", chat=chat, text="hello")


async def test_a_message_sent_from_a_chat_is_answered_where_its_session_is_only_once() -> None:
    async with gateway() as bot:
        for _ in range(2):
            await bot.channel.push("/send session=fake:2 what is new?", key="u1")
        messages = [await bot.channel.pop() for _ in range(2)]
        replies = {message.text: str(message.address) for message in messages}
        assert replies["echo: what is new?"] == "fake:2"
        await bot.settle()
        assert len(bot.channel.sent) == 2


async def test_a_session_is_stopped_by_a_call(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("hang")
        await held.reached.wait()
        (live,) = await bot.records.runs(session="", state="live", limit=2)
        stopped = await call(bot, "stop", session="fake:1")
        assert stopped.run == live.id
        assert (await bot.channel.pop()).text == "Stopped."
        assert (await call(bot, "stop", session="fake:1")).run is None
        with pytest.raises(UsageError, match="no session fake:9"):
            await call(bot, "stop", session="fake:9")


async def test_a_call_starts_a_new_conversation(bot: FakeGateway) -> None:
    await talk(bot, "one", chat="1")
    await call(bot, "new", session="fake:1")
    await bot.settle()
    (owed, *_) = await bot.records.outbox(state="", limit=5)
    assert owed.text.startswith("New conversation.")


async def test_the_model_is_changed_by_a_call(bot: FakeGateway) -> None:
    assert (await call(bot, "model", session="fake:1")).model == "test/scripted"
    changed = await call(bot, "model", name="test/other", session="fake:1")
    assert changed.changed
    row = await bot.journal.session("fake:1")
    assert row
    assert row.model == "test/other"


async def test_status_tells_of_a_model_that_cannot_answer(bot: FakeGateway) -> None:
    await bot.journal.set_model("fake:1", "nowhere/x")
    status = await call(bot, "status", session="fake:1")
    assert status.model == "none: there is no model nowhere/x"
    assert status.channels == {"fake": "up"}
