"""`runs replay` over the log of a gateway: nothing is asked, nothing is done, and a log that the
program would not lead to any more is named."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import sqlalchemy as sa

from nanobot.errors import NanobotError, UnknownId, UsageError
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.replay.commands import ReplayDiffers, ReplayView, operations
from nanobot.store.database import schema
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from tests.agent.tooling import Recorder
from tests.stored import runs_of

_e = schema.entries
KEY = "fake:1"


async def replay(bot: FakeGateway, name: str = "", **options: Any) -> list[ReplayView]:
    found: list[ReplayView] = await Dispatcher(bot.engine, operations(), bot.offers).call(
        "runs replay", {"name": name, **options}
    )
    return found


def talkative() -> ScriptedProvider:
    return ScriptedProvider(asks_for("act", "Let me see.", text="x"), "Done.", "Again.")


async def talk(bot: FakeGateway, chat: str = "1") -> None:
    await bot.channel.push("do it", chat=chat)
    await bot.channel.pop(chat)
    await bot.settle()


async def rewrite(bot: FakeGateway, kind: str, change: dict[str, Any] | None) -> int:
    """Change the first payload of a kind as no version of the program would; None erases it."""

    def write(connection: sa.Connection) -> int:
        query = (
            sa.select(_e.c.seq, _e.c.payload)
            .where(_e.c.kind == kind, _e.c.session_key == KEY)
            .order_by(_e.c.seq)
        )
        seq, payload = connection.execute(query.limit(1)).one()
        body = None if change is None else json.dumps(json.loads(payload) | change).encode()
        connection.execute(
            sa.update(_e).where(_e.c.seq == seq, _e.c.session_key == KEY).values(payload=body)
        )
        return int(seq)

    return await bot.process.transact(write, "rewrite")


async def test_a_session_and_a_run_replay_without_a_model_or_a_tool() -> None:
    effects, provider = Recorder(), talkative()
    async with gateway(provider, tools=[effects.tool("act")]) as bot:
        await talk(bot)
        asked, done = len(provider.requests), list(effects.calls)
        (run,) = await runs_of(bot.records).listed(session=KEY, state="", limit=5)

        (session,) = await replay(bot, KEY)
        (alone,) = await replay(bot, run.id)
        everything = await replay(bot, all=True)

        assert (session.runs, session.requests, session.compared) == (1, 2, 2)
        assert session.steps == 3
        assert alone == session == everything[0]
        assert session.skipped == ()
        assert (len(provider.requests), effects.calls) == (asked, done)


async def test_the_first_request_that_comes_out_otherwise_is_named() -> None:
    async with gateway(talkative(), tools=[Recorder().tool("act")]) as bot:
        await talk(bot)
        await rewrite(bot, "user", {"text": "do something else"})

        with pytest.raises(ReplayDiffers) as found:
            await replay(bot, KEY)

    assert "differs in its request" in str(found.value)
    assert "--- logged" in str(found.value)
    assert found.value.exit_code == 1


async def test_the_first_step_that_comes_out_otherwise_is_named() -> None:
    async with gateway(talkative(), tools=[Recorder().tool("act")]) as bot:
        await talk(bot)
        seq = await rewrite(bot, "tool_result", {"index": 4})

        with pytest.raises(ReplayDiffers, match=f"entry {seq} of {KEY} .* differs in its step"):
            await replay(bot, all=True)


async def test_an_erased_entry_is_said_to_be_missing() -> None:
    async with gateway(talkative(), tools=[Recorder().tool("act")]) as bot:
        await talk(bot)
        await SqlEraser(bot.process, bot.process.writer).erase(KEY, 1, "ann")
        (session,) = await replay(bot, KEY)

    assert session.requests == 0
    assert "its window holds entry 1, erased" in session.skipped[0]


async def test_a_log_of_a_newer_version_is_named_and_the_others_are_replayed() -> None:
    async with gateway(ScriptedProvider("One.", "Two.")) as bot:
        await talk(bot)
        await talk(bot, "2")
        seq = await rewrite(bot, "prompt", {"type": "hologram"})
        views = {view.session_key: view for view in await replay(bot, all=True)}

    assert len(views) == 2
    (newer,) = [view for view in views.values() if view.skipped]
    assert f"entry {seq} of {newer.session_key} is a prompt that this version cannot" in str(
        newer.skipped
    )
    (other,) = [view for view in views.values() if not view.skipped]
    assert other.compared == 1


async def test_a_session_is_replayed_while_it_answers() -> None:
    held = Held()
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("hello")
        await bot.settle()
        (session,) = await replay(bot, KEY)
        held.answer("Later.")
        answer = await asyncio.wait_for(bot.channel.pop("1"), 10)

    assert (session.requests, session.compared) == (1, 0)
    assert answer.text == "Later."


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("", {}, UsageError),
        ("fake:1", {"all": True}, UsageError),
        ("nothing-of-that-name", {}, UnknownId),
    ],
)
async def test_what_cannot_be_replayed_is_refused_with_the_remedy(
    name: str, options: dict[str, Any], error: type[NanobotError]
) -> None:
    async with gateway(ScriptedProvider()) as bot:
        with pytest.raises(error, match=r"--all|runs list"):
            await replay(bot, name, **options)
