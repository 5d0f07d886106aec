"""What runs, waits and is unsent now, and a run as a waterfall, in an assembled gateway."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nanobot.messages import Role
from nanobot.plugins.common.runs.timeline import RunPage
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.runs.operations import operations as of_runs
from nanobot.plugins.top.moment import Moment
from nanobot.plugins.top.operations import operations
from nanobot.plugins.top.store import Loads
from nanobot.store.opening import contexts
from nanobot.store.records import SqlRecords
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from nanobot.testing.model import Held, ScriptedProvider
from tests.plugins.budgets import ledgers
from tests.plugins.budgets.ledgers import COUNTED
from tests.plugins.conversations.test_marks import ask, caller
from tests.stored import counts_of


def counted(bot: FakeGateway) -> Brought:
    """What the plugin adds to a gateway that counts model calls."""
    brought = ledgers.brings(bot)
    return msgspec.structs.replace(brought, operations=(*brought.operations, *operations()))


SHOWS = Options(brings=lambda _: Brought(operations=(*operations(), *of_runs())))


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    return await bot.operations.call(operation, arguments)


async def _until_a_model_is_asked(bot: FakeGateway) -> Moment:
    for _ in range(200):
        moment: Moment = await call(bot, "runs now")
        if any(run.doing.startswith("model") for run in moment.runs):
            return moment
        await asyncio.sleep(0.02)
    pytest.fail("no run asks a model")


async def test_a_live_run_says_which_model_it_asks_and_what_waits_behind_it() -> None:
    held = Held("the")
    async with gateway(ScriptedProvider(held), options=SHOWS) as bot:
        await bot.channel.push("a long question")
        moment = await _until_a_model_is_asked(bot)
        (run,) = moment.runs

        assert run.about == "a long question"
        assert run.seconds >= 0
        assert (moment.driving, moment.sessions, moment.owed, moment.dead) == (1, 1, 0, 0)
        assert "fake" in moment.channels
        held.answer("the answer")
        assert (await bot.channel.pop()).text == "the answer"


async def test_an_idle_gateway_has_no_live_run_and_says_what_it_used() -> None:
    async with gateway(options=Options(ledger=COUNTED, brings=counted)) as bot:
        await bot.channel.push("hello")
        await bot.channel.pop()
        moment: Moment = await call(bot, "runs now")

        assert moment.runs == []
        assert moment.tokens_a_minute
        assert moment.cost_today == 0.0
        assert moment.loop_lag_ms >= 0


async def test_members_see_their_own_runs_and_no_figures_of_others() -> None:
    held = Held("the")
    async with gateway(ScriptedProvider(held), options=SHOWS) as bot:
        await bot.channel.push("a secret question")
        await _until_a_model_is_asked(bot)
        moment: Moment = await ask(bot, "runs now", caller(Role.MEMBER, "fake:2"))

        assert (moment.runs, moment.sessions, moment.channels) == ([], 0, {})
        held.answer("the answer")
        await bot.channel.pop()


async def test_a_run_shows_its_model_call_and_its_delivery() -> None:
    async with gateway(options=SHOWS) as bot:
        await bot.channel.push("hello")
        await bot.channel.pop()
        (run,) = await call(bot, "runs list")
        page: RunPage = await call(bot, "runs show", id=run.id)

        assert page.timeline is not None
        kinds = [piece.kind for piece in page.timeline.pieces]
        assert "model" in kinds
        assert "delivery" in kinds


@pytest.mark.process
async def test_the_loop_lag_is_the_largest_of_the_seconds_asked_for() -> None:
    async with gateway(options=SHOWS) as bot:
        await call(bot, "runs now")
        await asyncio.sleep(0.1)
        time.sleep(0.3)  # noqa: ASYNC251 - it is what blocks the loop
        await asyncio.sleep(0.1)
        busy: Moment = await call(bot, "runs now", seconds=5.0)
        assert busy.loop_lag_ms >= 200

        since = busy
        async with asyncio.timeout(60):  # others may keep the processor busy for as long
            while since.loop_lag_ms >= busy.loop_lag_ms:
                await asyncio.sleep(1.0)
                since = await call(bot, "runs now", seconds=0.5)


async def test_the_queue_of_the_store_is_what_waits_beside_the_look_itself(
    tmp_path: Path,
) -> None:
    gate = threading.Event()
    context = contexts(SystemClock(), RandomIds(), store_hooks())
    store = open_store(tmp_path, "", context, command="a test", crash="")
    try:
        records = SqlRecords(store.guard, store.writer)
        blocking = asyncio.create_task(store.guard.transact(lambda _: gate.wait(20)))
        await asyncio.sleep(0.05)
        others = [asyncio.create_task(counts_of(records).counts()) for _ in range(5)]
        loads = Loads(store.guard, store.writer)
        look = asyncio.create_task(loads.now())
        await asyncio.sleep(0.05)
        gate.set()

        assert (await look).queued >= 5
        await asyncio.gather(blocking, *others)
        assert (await loads.now()).queued == 0
    finally:
        gate.set()
        await store.close()


async def test_programs_learn_what_a_run_does_in_parts() -> None:
    held = Held("the")
    async with gateway(ScriptedProvider(held), options=SHOWS) as bot:
        await bot.channel.push("a long question")
        (run,) = (await _until_a_model_is_asked(bot)).runs
        assert run.kind == "model"
        assert run.doing == f"model {run.name}"
        held.answer("the answer")
        await bot.channel.pop()
