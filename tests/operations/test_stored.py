"""Operations over what is stored, asked in a chat and called by a program."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.common.views.outbox import OutboxView
from nanobot.plugins.common.views.views import RunView, SessionView
from nanobot.plugins.context.tools import ToolView
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import Held, ScriptedProvider
from tests.agent.tooling import Recorder
from tests.stored import choosing, outbox_of, runs_of


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    return await bot.operations.call(operation, arguments)


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


async def test_a_session_is_stopped_by_a_call(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("hang")
        await held.reached.wait()
        (live,) = await runs_of(bot.records).listed(session="", state="live", limit=2)
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
    (owed, *_) = await outbox_of(bot.records).listed(state="", limit=5)
    assert owed.text.startswith("New conversation.")


async def test_the_model_is_changed_by_a_call(bot: FakeGateway) -> None:
    assert (await call(bot, "model", session="fake:1")).model == "test/scripted"
    changed = await call(bot, "model", name="test/other", session="fake:1")
    assert changed.changed
    row = await bot.journal.session("fake:1")
    assert row
    assert row.model == "test/other"


async def test_status_tells_of_a_model_that_cannot_answer(bot: FakeGateway) -> None:
    await choosing(bot.journal).set_model("fake:1", "nowhere/x")
    status = await call(bot, "status", session="fake:1")
    assert status.model == "none: there is no model nowhere/x"
    assert status.channels == {"fake": "up"}
