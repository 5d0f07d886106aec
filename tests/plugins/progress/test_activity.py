"""What is worked on for a channel, as far as events tell."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.messages import Address, EventKind, RunEvent, RunPayload
from nanobot.plugins.progress.activity import Activity
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock

STARTED: RunPayload = {
    "state": "running",
    "address": Address("fake", "1"),
    "reply_key": "r:0",
}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"text": "ls  -la\\n| `wc`"}', "`exec: ls -la | 'wc'`"),
        ('{"number": 1, "text": "x"}', "`exec: x`"),
        ('{"text": "%s"}' % ("x" * 200), f"`exec: {'x' * 71}...`"),
        *((odd, "`exec`") for odd in ("", "{not json", "{}", "[]", '"text"', "null", "1")),
    ],
)
async def test_a_tool_is_shown_whatever_it_is_given(arguments: str, line: str) -> None:
    async with MemoryHome(ManualClock(instant=False)) as home, gateway(home=home) as bot:
        work = Activity("fake", bot.bus, home.clock)
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(work.watch())
            await bot.settle()
            bot.bus.emit(event(EventKind.STATUS, STARTED))
            bot.bus.emit(event(EventKind.TOOL_CALL, {"name": "exec", "arguments": arguments}))
            await bot.settle()
            assert f"`{work.runs['r'].tool}`" == line
            bot.bus.emit(event(EventKind.TOOL_RESULT, {}))
            await bot.settle()
            assert work.runs["r"].tool == ""
            watching.cancel()


def event(kind: EventKind, payload: RunPayload) -> RunEvent:
    return RunEvent(
        run_id="r", session_key="fake:1", model_call=1, seq=1, kind=kind, at=0.0, payload=payload
    )


async def test_an_event_that_makes_no_sense_costs_nothing_but_itself(bot: FakeGateway) -> None:
    work = Activity("fake", bot.bus, bot.home.clock)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(work.watch())
        await bot.settle()
        bot.bus.emit(event(EventKind.STATUS, {"state": "running"}))
        bot.bus.emit(event(EventKind.STATUS, STARTED))
        await bot.settle()
        assert list(work.runs) == ["r"]
        watching.cancel()
