"""Runs as they are listed, shown, named and cancelled."""

from __future__ import annotations

import pytest

from nanobot.errors import NanobotError, UsageError
from nanobot.plugins.common.runs.timeline import RunPage
from nanobot.plugins.common.views.views import RunView
from nanobot.session.entries import CancelEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import Held, ScriptedProvider
from tests.agent.tooling import bodies
from tests.operations.test_stored import talk
from tests.plugins.runs.sight import call


async def test_runs_are_listed_with_what_they_answer_and_took(bot: FakeGateway) -> None:
    await talk(bot, "one", "two")
    await talk(bot, "three", chat="2")
    listed: list[RunView] = await call(bot, "runs list")
    assert [run.session_key for run in listed] == ["fake:2", "fake:1", "fake:1"]
    assert [run.inbound_ids for run in listed] == [(3,), (2,), (1,)]
    assert all(run.usage and run.usage.model_calls == 1 for run in listed)
    of_one = await call(bot, "runs list", session="fake:1", limit=1)
    assert [run.inbound_ids for run in of_one] == [(2,)]
    assert await call(bot, "runs list", state="failed") == []
    assert len(await call(bot, "runs list", state="completed")) == 3
    assert len(await call(bot, "runs list", state="succeeded")) == 3
    assert await call(bot, "runs list", state="cancelled") == []


async def test_a_run_is_shown_step_by_step_without_its_neighbours(bot: FakeGateway) -> None:
    await talk(bot, "one", "two")
    newest, oldest = await call(bot, "runs list")
    page: RunPage = await call(bot, "runs show", id=oldest.id)
    assert [entry.kind for entry in page.entries] == ["user", "prompt", "model_call", "reply"]
    page = await call(bot, "runs show", id=newest.id)
    assert [entry.kind for entry in page.entries] == ["user", "model_call", "reply"]
    with pytest.raises(NanobotError, match="There is no run x"):
        await call(bot, "runs show", id="x")


async def test_a_cancelled_run_ends_at_once_and_what_waits_behind_it_goes_on(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("hang")
        await held.reached.wait()
        await bot.channel.push("/new")
        (live,) = await call(bot, "runs list", state="live")
        ended = await call(bot, "runs cancel", id=live.id)
        assert (ended.state, ended.error) == ("aborted", "cancelled")
        assert (await bot.channel.pop()).text == "Cancelled."
        assert (await bot.channel.pop()).text.startswith("New conversation.")
        await bot.settle()
        assert bot.engine.running() == []
        assert [entry.by for entry in bodies(bot, CancelEntry)] == ["local"]
        bot.home.verify("fake:1")
        with pytest.raises(NanobotError, match="has ended already"):
            await call(bot, "runs cancel", id=live.id)


async def test_a_run_that_nobody_drives_is_cancelled_too(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("hang")
        await held.reached.wait()
        bot.crash()
        bot.process.dead = False
        (live,) = await call(bot, "runs list", state="live")
        await call(bot, "runs cancel", id=live.id)
        assert await bot.journal.ready() == []


async def test_a_run_is_named_by_as_much_of_its_id_as_only_one_has(bot: FakeGateway) -> None:
    for text in ("one", "two"):
        await bot.channel.push(text)
        await bot.channel.pop()
    await bot.settle()
    second, first = await call(bot, "runs list")
    pairs = zip(first.id, second.id, strict=True)
    shared = first.id[: [letter == other for letter, other in pairs].index(False)]
    unique = first.id[: len(shared) + 1]
    assert (await call(bot, "runs show", id=unique)).run.id == first.id
    assert (await call(bot, "runs show", id=unique.upper())).run.id == first.id
    with pytest.raises(UsageError, match="matches several runs"):
        await call(bot, "runs show", id=shared[:3])
    for wildcard in ("%", "_", "01%"):
        with pytest.raises(NanobotError, match="There is no run"):
            await call(bot, "runs show", id=wildcard)
