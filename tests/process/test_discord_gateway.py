"""A whole gateway on Discord: answers once or marked, whatever breaks on the way."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from importlib.metadata import entry_points

import pytest

from tests.doubles.discord_rules import shown_text
from tests.doubles.discord_server import DM, DiscordServer
from tests.process.harness import LATE_EDIT, World
from tests.process.platforms import discord_beside, told_once

# A checkout that was installed before there was this channel has to be installed anew.
pytestmark = pytest.mark.skipif(
    not entry_points(group="nanobot.channels", name="discord"), reason="not installed with Discord"
)


@pytest.fixture
async def discord(world: World) -> AsyncIterator[DiscordServer]:
    async with discord_beside(world) as server:
        yield server


def shown(discord: DiscordServer) -> list[str]:
    return [shown_text(message) for message in discord.mine(DM)]


async def connected(discord: DiscordServer) -> None:
    await discord.until(lambda: bool(discord.sessions))


@pytest.mark.parametrize("length", [1, 1_000], ids=["short", "in parts"])
@pytest.mark.parametrize("nonces", ["known", "forgotten"])
async def test_an_answer_that_a_kill_cut_off_from_its_receipt_is_not_repeated_unmarked(
    world: World, discord: DiscordServer, nonces: str, length: int
) -> None:
    text = " ".join(f"word{number}" for number in range(length))
    gateway = await world.launch(crash_at="receipt:before")
    await connected(discord)
    discord.now = time.time()
    await discord.say(DM, f"say:{text}")
    await gateway.died()
    assert len(shown(discord)) == 1
    if nonces == "forgotten":
        discord.forget_nonces()
    discord.sessions.clear()
    await world.start()
    await connected(discord)
    discord.now = time.time()
    await discord.say(DM, "say:next")
    await discord.until(lambda: "next" in shown(discord))
    assert " ".join(told_once(shown(discord))) == f"{text} next"


async def test_an_answer_that_never_arrived_comes_after_a_kill(
    world: World, discord: DiscordServer
) -> None:
    discord.fail("POST /channels/{channel}/messages", drop="before", times=None)
    gateway = await world.start()
    await connected(discord)
    discord.now = time.time()
    await discord.say(DM, "say:same")
    await discord.until(lambda: bool(discord.calls_of("POST /channels/{channel}/messages")))
    await gateway.kill()
    discord.heal()
    discord.sessions.clear()
    await world.start()
    await discord.until(lambda: told_once(shown(discord)) == ["same"])


async def test_who_edits_a_message_after_its_answer_hears_that_it_was_too_late(
    world: World, discord: DiscordServer
) -> None:
    await world.start()
    await connected(discord)
    message = await discord.say(DM, "say:one")
    await discord.until(lambda: shown(discord) == ["one"])
    await discord.edit(message, "say:two")
    await discord.until(lambda: shown(discord) == ["one", LATE_EDIT])
    assert not re.findall("say:two", str(world.model.requests))


async def test_what_is_deleted_while_it_waits_is_not_answered_and_what_works_goes_on(
    world: World, discord: DiscordServer
) -> None:
    await world.start()
    await connected(discord)
    working = await discord.say(DM, "wait:2\nsay:one")
    await world.asked(1)
    waiting = await discord.say(DM, "say:two")
    for message in (waiting, working):
        await discord.take_back(message)
    await discord.until(lambda: shown(discord) == ["one"])
    await discord.say(DM, "say:three")
    await discord.until(lambda: shown(discord) == ["one", "three"])
    assert not re.findall("say:two", str(world.model.requests))
