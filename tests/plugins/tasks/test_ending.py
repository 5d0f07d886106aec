"""How background runs end: by people, and by kills around the transaction that reports it."""

from __future__ import annotations

import pytest

from nanobot.plugins.common.runs.background_runs import TaskRequest
from nanobot.session.entries import PostEntry
from nanobot.session.states import RunState
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.model import Held, ScriptedProvider
from tests.agent.tooling import bodies
from tests.plugins.tasks.working import SPAWNING, delegating, parent, say, tasks_of, the_run, wanted
from tests.plugins.tasks.working import with_types as types_of


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("verb", ["task_created", "claim", "finish"])
async def test_a_kill_around_a_verb_leaves_one_report(verb: str, side: str) -> None:
    home = MemoryHome()
    options = types_of(say())

    async with gateway(home=home, options=options) as bot:

        def kill(done: str) -> None:
            if done == verb:
                bot.crash()

        setattr(bot.process, side, kill)
        try:
            await bot.starter.start(wanted("hi", by=parent()))
        except Exception:  # noqa: BLE001 - whatever a killed process would have said
            assert verb == "task_created"
        await bot.settle()
    async with gateway(home=home, options=options) as bot:
        await bot.starter.start(wanted("hi", by=parent()))  # asked again, by the same key
        assert (await bot.channel.pop()).text == "Task completed: Say hi\n\nsaid hi"
        await bot.settle()
        assert len(bodies(bot, PostEntry)) == 1
        assert len(await tasks_of(bot)) == 1
    await home.close()


async def look_into(bot: FakeGateway, held: Held) -> str:
    """A subagent at work."""
    request = TaskRequest(type="agent", title="Look", input={"task": "x"}, key="k", parent=parent())
    run_id = await bot.starter.start(request)
    await held.reached.wait()
    return run_id


async def test_stop_leaves_children_running_and_stop_all_ends_them(held: Held) -> None:
    async with gateway(ScriptedProvider(held), options=SPAWNING) as bot:
        run_id = await look_into(bot, held)
        await bot.channel.push("/stop")
        await bot.channel.pop()
        assert (await the_run(bot, run_id)).state is RunState.MODEL_RUNNING
        await bot.channel.push("/stop all")
        texts = {(await bot.channel.pop()).text, (await bot.channel.pop()).text}
        assert texts == {"Stopped.", "Task cancelled: Look"}
        await bot.settle()
        assert (await the_run(bot, run_id)).state is RunState.ABORTED
        assert bot.engine.running() == []


async def test_a_cancelled_run_is_retried_as_a_new_one(held: Held) -> None:
    model = ScriptedProvider(held, otherwise=delegating("found"))
    async with gateway(model, options=SPAWNING) as bot:
        run_id = await look_into(bot, held)
        await bot.channel.push(f"/runs cancel {run_id}")
        assert "Task cancelled: Look" in {
            (await bot.channel.pop()).text,
            (await bot.channel.pop()).text,
        }
        await bot.channel.push(f"/runs retry {run_id}")
        await bot.settle()
        first, second = await tasks_of(bot)
        assert (first.id, first.state) == (run_id, RunState.ABORTED)
        assert (second.title, second.state) == ("Look", RunState.COMPLETED)
        await bot.channel.push(f"/runs retry {second.id}")
        await bot.settle()
        assert "only failed runs" in bot.channel.sent[-1].text
