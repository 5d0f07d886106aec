"""What people think of answers is kept in the log, once a person, where they may say it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nanobot.errors import NanobotError, UnknownId, UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Caller
from nanobot.plugins.common.runs.ratings import FeedbackView
from nanobot.plugins.common.runs.timeline import RunPage
from nanobot.session.entries import FeedbackEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import Held, ScriptedProvider
from tests.plugins.feedback.rating import RATING, desk
from tests.stored import runs_of


async def call(bot: FakeGateway, **arguments: Any) -> list[FeedbackView]:
    given: list[FeedbackView] = await desk(bot).call("runs feedback", arguments)
    return given


def kept(bot: FakeGateway, key: str) -> list[FeedbackEntry]:
    bodies = [entry.body for entry in bot.home.entries(key)]
    return [body for body in bodies if isinstance(body, FeedbackEntry)]


async def answered(bot: FakeGateway, text: str = "hello") -> str:
    """A run that has answered; its session."""
    message = await bot.channel.push(text)
    await bot.settle()
    runs = await runs_of(bot.engine.records).listed(session="", state="completed", limit=1)
    assert message.text == text
    return runs[0].session_key


async def test_a_verdict_is_an_entry_of_its_run_and_shown_with_it(bot: FakeGateway) -> None:
    session = await answered(bot)
    await bot.channel.push("/runs feedback down  Too   long")
    await bot.settle()
    (entry,) = kept(bot, session)
    assert (entry.verdict, entry.text) == ("down", "Too   long")
    assert entry.by.startswith("fake:")
    (listed,) = await call(bot)
    page: RunPage = await desk(bot).call("runs show", {"id": listed.run_id})
    assert page.feedback == (listed,)
    assert "down" in desk(bot).named("runs show").text(page, bot.engine.shown_at())
    assert bot.home.verify(session)


async def test_of_several_verdicts_of_a_person_the_last_counts_and_none_is_kept_twice() -> None:
    async with gateway(options=RATING) as bot:
        session = await answered(bot)
        for verdict in ("up", "up", "down", "down"):
            await bot.channel.push(f"/runs feedback {verdict}")
            await bot.settle()
        assert [entry.verdict for entry in kept(bot, session)] == ["up", "down"]
        (run,) = {view.run_id for view in await call(bot)}
        await call(bot, verdict="up", run=run)
        listed = await call(bot, run=run)
        assert sorted(view.verdict for view in listed) == ["down", "up"]
        assert len(listed) == 2


async def test_two_presses_at_once_are_one_verdict(bot: FakeGateway) -> None:
    session = await answered(bot)
    run = (await runs_of(bot.engine.records).listed(session=session, state="", limit=1))[0].id
    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(call(bot, verdict="up", run=run))
    assert len(kept(bot, session)) == 1


async def test_the_model_sees_nothing_of_it(bot: FakeGateway) -> None:
    await answered(bot)
    await bot.channel.push("/runs feedback down nonsense-word")
    await bot.settle()
    await answered(bot, "and now?")
    assert "nonsense-word" not in str(bot.provider.requests[-1])


async def test_what_cannot_be_judged_is_said() -> None:
    held = Held("I think")
    async with gateway(ScriptedProvider(held), options=RATING) as bot:
        with pytest.raises(NanobotError, match="There is no run"):
            await call(bot, verdict="up", run="zzz")
        with pytest.raises(UsageError):
            await call(bot, verdict="sideways")
        with pytest.raises(UsageError, match="2,000"):
            await call(bot, verdict="up", text="x" * 2_001)
        with pytest.raises(NanobotError, match="no answer"):
            await call(bot, verdict="up")
        await bot.channel.push("hello")
        await held.reached.wait()
        (live,) = await runs_of(bot.engine.records).listed(session="", state="live", limit=1)
        with pytest.raises(NanobotError, match="has not ended"):
            await call(bot, verdict="up", run=live.id)
        held.answer("So.")
        await bot.settle()
        assert await call(bot) == []


async def test_a_guest_judges_answers_of_the_own_conversation_and_reads_nobody_elses() -> None:
    async with gateway(options=RATING) as bot:
        session = await answered(bot)
        (run,) = await runs_of(bot.engine.records).listed(session=session, state="", limit=1)
        stranger = Caller(role=Role.GUEST, session_key="fake:elsewhere", by="9")
        with pytest.raises(UnknownId, match="You have no run"):
            await desk(bot).call("runs feedback", {"verdict": "up", "run": run.id}, stranger)
        with pytest.raises(UsageError, match="Only owners can read"):
            await desk(bot).call("runs feedback", {}, stranger)
        guest = Caller(role=Role.GUEST, session_key=session, by="9")
        (own,) = await desk(bot).call("runs feedback", {"verdict": "up"}, guest)
        assert own.run_id == run.id


async def test_of_many_runs_the_newest_are_listed_first(bot: FakeGateway) -> None:
    for number in range(3):
        await answered(bot, f"number {number}")
        await bot.channel.push("/runs feedback up")
        await bot.settle()
    runs = [run.run_id for run in await call(bot, limit=2)]
    newest = await runs_of(bot.engine.records).listed(session="", state="completed", limit=2)
    assert runs == [run.id for run in newest]
