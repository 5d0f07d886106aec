"""kill -9 while a background run is at work: it goes on, and its end is told once."""

from __future__ import annotations

import json

from nanobot.messages import Origin
from nanobot.session.entries import UserEntry
from tests.process.harness import World

CHAT = "telegram:1"


async def test_a_subagent_that_a_kill_cut_goes_on_and_reports_once(world: World) -> None:
    command = json.dumps({"command": "echo x >> effects; sleep 300"})
    wanted = {"task": f"tool:exec:{command}\nsay:far away", "label": "The moon"}
    gateway = await world.start()
    world.telegram.say(1, f"tool:spawn:{json.dumps(wanted)}\nsay:started")
    await world.said(1, "started")
    await world.eventually((world.workspace / "effects").exists)
    await gateway.kill()

    gateway = await world.start()
    await world.eventually(lambda: len(reports(world)) == 1)
    (report,) = reports(world)
    assert report.endswith("Task completed: The moon\n\nfar away")
    assert len(await world.answered(1, 2)) == 2
    assert await gateway.stop() == 0
    assert len(reports(world)) == 1
    assert world.rows("SELECT count(*) FROM tasks") == [(1,)]
    assert (world.workspace / "effects").read_text() == "x\n"
    world.verify()


def reports(world: World) -> list[str]:
    """What the conversation heard of its background runs."""
    entries = [entry for entry in world.entries(CHAT) if isinstance(entry, UserEntry)]
    return [entry.text for entry in entries if entry.origin is Origin.RUN]
