"""A gateway that is killed in the middle of a fork completes it at its next start."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest

from nanobot.errors import NanobotError
from nanobot.plugins.common.control.client import connected
from tests.process.harness import PATIENCE, World
from tests.sampling import few

READS = 'tool:list_dir:{"path": "."}\nsay:Those are all.'


async def listed(world: World) -> list[dict[str, Any]]:
    ended = await world.run("runs", "list", "--json")
    assert ended.code == 0, ended.errors
    runs: list[dict[str, Any]] = json.loads(ended.output)
    return runs


@pytest.mark.parametrize(
    "point",
    few(
        [
            "fork_copied:after",
            "fork_created:after",
            "fork_copied:before",
            "start_model:before",
            "finish",
        ],
        1,
    ),
)
async def test_a_fork_survives_the_kill_of_its_gateway(world: World, point: str) -> None:
    world.configure()
    first = await world.start()
    world.telegram.say(1, READS)
    await world.answered(1, 1)
    (run,) = await listed(world)
    await first.stop()

    crashing = await world.launch(crash_at=point)
    await crashing.ready()
    with suppress(NanobotError):
        async with connected(world.home) as client:
            await client.call("runs fork", {"id": run["id"], "say": "say:In the fork."})
    await crashing.died()
    await world.start()
    fork = await completed(world)

    shown = await world.run("runs", "compare", run["id"], fork["id"])
    verified = await world.run("audit", "verify")
    assert fork["session_key"] == f"fork:{fork['id']}"
    assert "In the fork." in shown.output
    assert verified.code == 0
    assert world.texts(1) == ["Those are all."]


async def completed(world: World) -> dict[str, Any]:
    """The one fork, once it has ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            forks = [each for each in await listed(world) if each["parent"]]
            if forks and forks[0]["state"] == "completed":
                (fork,) = forks
                return fork
            await asyncio.sleep(0.2)


async def test_a_fork_without_a_gateway_begins_with_the_next_start(world: World) -> None:
    world.configure()
    first = await world.start()
    world.telegram.say(1, READS)
    await world.answered(1, 1)
    (run,) = await listed(world)
    await first.stop()

    waiting = await world.run("runs", "fork", run["id"], "--wait", "5")
    forked = await world.run("runs", "fork", run["id"], "--json")
    await world.start()
    fork = await completed(world)

    assert waiting.code == 2
    assert "No gateway is running" in waiting.errors
    assert json.loads(forked.output)["run"] == fork["id"]
