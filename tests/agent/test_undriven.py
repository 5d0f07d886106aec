"""No lane is left undriven: whoever is cancelled or fails in the middle, what waits is answered."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from nanobot.agent.loop import AgentLoop
from nanobot.bus.core import Bus
from nanobot.errors import StoreError
from nanobot.session.entries import UserEntry
from nanobot.store.database import schema
from nanobot.testing import gateway
from nanobot.testing.gateway import MemoryHome, Process
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.tools.registry import ToolRegistry
from tests.agent.tooling import Recorder, bodies

SESSION = "cli:direct"
TURNS = 400


def agent(process: Process, folder: Path) -> AgentLoop:
    """An AgentLoop over a store that works inline, so that every turn of the loop is the same."""
    tools = ToolRegistry()
    tools.register(Recorder().tool("look"))
    provider = ScriptedProvider(asks_for("look", text="x"))
    return AgentLoop(Bus(process.journal), provider, folder, tools=tools)


def nothing_waits(connection: sa.Connection) -> bool:
    waiting = schema.inbound.c.state != "settled"
    return not connection.scalar(sa.select(sa.func.count()).where(waiting))


async def turns_of(folder: Path) -> int:
    """How many turns of the loop an answer takes."""
    async with MemoryHome() as home:
        task = asyncio.create_task(agent(Process(home), folder).process_direct("one"))
        for turn in range(TURNS):
            if task.done():
                assert await task
                return turn
            await asyncio.sleep(0)
    raise AssertionError("it takes too long")


@pytest.mark.process
async def test_a_caller_cancelled_at_any_await_leaves_a_lane_that_goes_on(tmp_path: Path) -> None:
    turns = await turns_of(tmp_path)
    assert turns > 15
    for turn in range(turns):
        async with MemoryHome() as home, asyncio.timeout(10):
            process = Process(home)
            loop = agent(process, tmp_path)
            task = asyncio.create_task(loop.process_direct("one"))
            for _ in range(turn):
                await asyncio.sleep(0)
            task.cancel()
            (ended,) = await asyncio.gather(task, return_exceptions=True)
            assert isinstance(ended, asyncio.CancelledError) or turn > 15, turn
            assert await loop.process_direct("two"), turn
            assert await process.journal.ready() == [], turn
            entries = [entry.body for entry in home.entries(SESSION)]
            texts = [body.text for body in entries if isinstance(body, UserEntry)]
            assert texts in (["two"], ["one", "two"]), turn


@pytest.mark.process
@pytest.mark.parametrize("failure", [RuntimeError("a bug"), StoreError("no space")])
@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_failure_at_any_verb_leaves_a_lane_that_goes_on(
    failure: Exception, side: str
) -> None:
    for nth in range(1, 9):
        provider = ScriptedProvider(asks_for("look", text="x"))
        async with gateway(provider, tools=[Recorder().tool("look")]) as bot:
            await bot.channel.push("one")
            left = nth

            def fail(verb: str) -> None:
                nonlocal left
                left -= bool(verb)
                if left == 0 and verb:
                    left = -1
                    raise failure

            setattr(bot.process, side, fail)
            for _ in range(20):
                await bot.settle()
            setattr(bot.process, side, lambda _: None)
            await bot.channel.push("two")
            await bot.channel.until(partial(bot.home.do, nothing_waits))
            texts = [body.text for body in bodies(bot, UserEntry)]
            assert texts == ["one", "two"], nth
