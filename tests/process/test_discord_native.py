"""Components on Discord by a whole gateway: long answers, questions, and a server without them."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.doubles.discord_rules import BUTTON, IS_COMPONENTS_V2, nested, shown_text
from tests.doubles.discord_server import DM, DiscordServer
from tests.process.harness import PATIENCE, Nanobot, World
from tests.process.platforms import discord_beside, told_once
from tests.sampling import few

POST = "POST /channels/{channel}/messages"
PATCH = "PATCH /channels/{channel}/messages/{message}"
WORDS = [f"word{number}" for number in range(1_000)]
LONG = " ".join(WORDS)
STREAMED = f"pace:0.005\nsay:{LONG}"
"""Some 9,000 characters in five seconds."""


ASKED = """
[[policy.rules]]
tool = "exec"
verdict = "ask"
"""


@pytest.fixture
async def discord(world: World) -> AsyncIterator[DiscordServer]:
    async with discord_beside(world, ASKED) as server:
        yield server


def shown(discord: DiscordServer) -> list[str]:
    return [shown_text(message) for message in discord.mine(DM)]


async def say(discord: DiscordServer, text: str) -> None:
    await discord.until(lambda: bool(discord.sessions))
    discord.now = time.time()
    await discord.say(DM, text)


async def until(discord: DiscordServer, holds: Callable[[], bool]) -> None:
    await discord.until(holds, PATIENCE)


async def test_a_streamed_answer_of_9000_characters_is_three_messages_within_the_limit(
    world: World, discord: DiscordServer, gateway: Nanobot
) -> None:
    discord.limits.most = (5, 5.0)
    await say(discord, STREAMED)
    await until(discord, lambda: " ".join(shown(discord)) == LONG)
    assert len(shown(discord)) == 3
    assert discord.calls_of(PATCH)
    assert discord.limits.complaints == 0
    await world.rests(gateway)


async def test_a_server_without_components_gets_the_same_in_content(
    world: World, discord: DiscordServer, gateway: Nanobot
) -> None:
    discord.native = False
    for _ in range(2):
        await say(discord, STREAMED)
        await until(discord, lambda: " ".join(shown(discord)).endswith("word999"))
        texts = shown(discord)
        assert " ".join(texts) == LONG
        assert len(texts) == 5
        discord.history[DM].clear()
    written = [*discord.calls_of(POST), *discord.calls_of(PATCH)]
    refused = [call for call in written if call.json["flags"] & IS_COMPONENTS_V2]
    assert len(refused) == 1
    await world.rests(gateway)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    "point", few(["begin_send:after", "receipt:before", "receipt:2:before"], 1)
)
async def test_a_kill_in_a_long_answer_leaves_it_once(
    world: World, discord: DiscordServer, point: str, *, native: bool
) -> None:
    discord.native = native
    gateway = await world.launch(crash_at=point)
    await say(discord, f"say:{LONG}")
    await gateway.died()
    discord.sessions.clear()
    await world.start()
    await say(discord, "say:next")
    await until(discord, lambda: shown(discord)[-1:] == ["next"])
    assert " ".join(told_once(shown(discord))) == f"{LONG} next"
    assert len(shown(discord)) == len(set(shown(discord)))


async def question(world: World, discord: DiscordServer) -> dict[str, Any]:
    """The bot asks before it does something."""
    call = json.dumps({"command": "echo hello"})
    await say(discord, f"tool:exec:{call}\nsay:done")
    await until(discord, lambda: bool(discord.mine(DM)))
    return discord.mine(DM)[0]


def buttons(message: dict[str, Any]) -> list[str]:
    return [
        button["label"]
        for button in nested(message.get("components", []))
        if button["type"] == BUTTON
    ]


@pytest.mark.parametrize("native", [True, False])
async def test_a_question_is_decided_once_however_often_it_is_pressed(
    world: World, discord: DiscordServer, *, native: bool
) -> None:
    discord.native = native
    await world.start()
    message = await question(world, discord)
    before = dict(message)
    assert buttons(message) == ["Approve", "Deny", "Always here"]
    assert bool(message["flags"] & IS_COMPONENTS_V2) == native
    presses = [await discord.press(before, label) for label in ("Approve", "Deny")]
    await until(discord, lambda: "done" in shown(discord))
    await until(discord, lambda: "Approved by" in shown(discord)[0])
    assert buttons(message) == []
    presses.append(await discord.press(before, "Deny"))
    await until(discord, lambda: set(presses) <= discord.answers.keys())
    assert [discord.answers[press]["type"] for press in presses] == [6, 6, 6]
    await say(discord, "say:next")
    await until(discord, lambda: "next" in shown(discord))
    assert shown(discord).count("done") == 1
    assert "Denied" not in shown(discord)[0]
