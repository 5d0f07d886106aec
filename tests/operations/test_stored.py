"""Operations over what is stored, asked in a chat and called by a program."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from nanobot.errors import NanobotError, UsageError
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.tools import ToolView
from nanobot.session.views import (
    OutboxView,
    RunView,
    SessionPage,
    SessionView,
)
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.machine import ManualClock
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


# Sessions


async def test_sessions_are_listed_by_their_last_change_with_what_is_unread() -> None:
    async with gateway() as bot:
        await talk(bot, "first")
        await bot.journal.set_model("late", None)
        await bot.settle()
        listed = await call(bot, "sessions list")
        assert {(session.key, session.title, session.has_unread) for session in listed} == {
            ("fake:1", "first", False),
            ("late", "", True),
        }
        assert [session.key for session in await call(bot, "sessions list", unread=True)] == [
            "late"
        ]
        read = await call(bot, "sessions mark-read", session="late")
        assert not read.has_unread
        assert await call(bot, "sessions list", unread=True) == []
        assert len(await call(bot, "sessions list", limit=1)) == 1


async def test_a_session_is_shown_with_the_end_of_its_log_and_exported_whole() -> None:
    async with gateway() as bot:
        await talk(bot, "hello")
        page: SessionPage = await call(bot, "sessions show", session="fake:1", limit=2)
        assert [entry.kind for entry in page.entries] == ["model_call", "reply"]
        whole: SessionPage = await call(bot, "sessions export", session="fake:1")
        assert [entry.seq for entry in whole.entries] == [1, 2, 3, 4]
        assert whole.entries[0].body is not None
        assert whole.entries[0].body["text"] == "hello"
        rest: SessionPage = await call(bot, "sessions export", session="fake:1", after=3)
        assert [entry.seq for entry in rest.entries] == [4]
        text = (await talk(bot, "/sessions show"))[0]
        assert "Key: fake:1" in text
        assert "user: hello" in text
        assert "reply: echo: hello" in text


async def test_a_session_is_shown_as_it_was_at_an_entry_or_a_time() -> None:
    async with gateway() as bot:
        clock = bot.home.clock
        assert isinstance(clock, ManualClock)
        began = clock.now()
        await talk(bot, "hello")
        clock.advance(3_600.0)
        await talk(bot, "later")
        between = datetime.fromtimestamp(began + 1_800, UTC).isoformat()
        for at in ("4", between):
            page: SessionPage = await call(bot, "sessions show", session="fake:1", at=at)
            assert [entry.seq for entry in page.entries] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"at": "99"}, "entries 1 to 4, not 99"),
        ({"at": "0"}, "entries 1 to 4, not 0"),
        ({"at": "1999-01-01"}, "had no entries yet"),
        ({"at": "yesterday-ish"}, "is not a time"),
        ({"at": "2", "before": 3}, "either --at"),
    ],
)
async def test_a_moment_that_the_log_does_not_have_is_refused(
    options: dict[str, Any], why: str
) -> None:
    async with gateway() as bot:
        await talk(bot, "hello")
        with pytest.raises(UsageError, match=why):
            await call(bot, "sessions show", session="fake:1", **options)


@pytest.mark.parametrize("name", ["show", "read", "export"])
async def test_a_session_that_is_not_there_is_said_to_be_missing(name: str) -> None:
    async with gateway() as bot:
        with pytest.raises(NanobotError, match="There is no session fake:9"):
            await call(bot, f"sessions {name}", session="fake:9")


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
    page = await call(bot, "sessions show", session="fake:1")
    assert page.entries[-1].body["text"] == "The backup is done."


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
