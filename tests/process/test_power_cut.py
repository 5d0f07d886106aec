"""A power cut: the process dies, and with it what the last commit wrote without waiting."""

from __future__ import annotations

import json

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.store.database.durability import ORDERED
from tests.process.harness import World
from tests.store.power import lose_last_commit

CHAT = 1
APPEND = json.dumps({"command": "echo x >> effects"})
ELSEWHERE = {"take_inbound", "take_pending", "start_auxiliary", "start_retry", "release", "index"}
"""Not reached by these conversations; a lost commit of theirs leaves what `claim` leaves."""


async def cut(world: World, verb: str, text: str) -> None:
    """The power fails right behind the first commit of that verb."""
    first = await world.launch(crash_at=f"{verb}:after")
    world.telegram.say(CHAT, text)
    await first.died()
    lose_last_commit(world.home / "state.db")


@pytest.mark.parametrize("verb", sorted(ORDERED - ELSEWHERE))
async def test_what_did_not_wait_is_done_again_and_no_effect_is(world: World, verb: str) -> None:
    world.configure()
    await cut(world, verb, f"tool:exec:{APPEND}\nsay:done")
    second = await world.start()
    # What the platform took and no log knows of is said again, and says so.
    again = [f"done\n\n{REPEAT_LINE}"] if verb == "receipt" else []
    await world.said(CHAT, "done", *again)
    assert await second.stop() == 0
    assert (world.workspace / "effects").read_text("utf-8") == "x\n"
    world.verify()
