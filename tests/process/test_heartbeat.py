"""A heartbeat of a real process, killed around its beat. Beats stand on whole minutes, at least."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.process.harness import World

MINUTE_AND_MORE = 80.0


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_process_that_is_killed_around_a_beat_does_it_once_at_most(
    world: World, moment: str
) -> None:
    first = await world.start()
    world.telegram.say(1, "say:hello")
    await world.said(1, "hello")
    assert await first.stop() == 0
    world.configure(more="[heartbeat]\ninterval_seconds = 60\nactive_seconds = 0")
    world.workspace.mkdir(parents=True, exist_ok=True)
    (world.workspace / "HEARTBEAT.md").write_text("say:It beats.")
    killed = await world.launch(crash_at=f"cron_trigger:1:{moment}")
    await killed.ready()
    async with asyncio.timeout(MINUTE_AND_MORE):
        while killed.running:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
    assert await killed.ended() == -signal.SIGKILL
    again = await world.start()
    if moment == "after":
        await world.said(1, "hello", "It beats.")
    await world.rests(again)
    beats = world.rows("SELECT call_key, status FROM occurrences")
    assert len({key for key, _ in beats}) == len(beats) == len(world.texts(1)) - 1
    assert len(beats) == (1 if moment == "after" else 0)
