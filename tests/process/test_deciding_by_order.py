"""A yes and its question on Discord and Slack: which was sent first their ids tell, and what does
not fit into a question comes with the buttons when it is asked for."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.doubles.discord_rules import snowflake
from tests.process.harness import PATIENCE, World
from tests.process.platforms import DenseSlack, LiveDiscord, OnDiscord, OnSlack, Platform

LONG = f"rm -rf *; echo done > NAME; echo {'x' * 5_000}"
SHORT = "rm -rf *; echo done > NAME; echo \u202e"


async def shown(platform: Platform, text: str) -> None:
    (chat,) = platform.chats
    await platform.until(lambda: any(text in each for each in platform.shown(chat)), PATIENCE)


async def asks(platform: Platform, number: int, command: str) -> None:
    (chat,) = platform.chats
    call = json.dumps({"command": command.replace("NAME", platform.name)})
    await platform.say(chat, f"tool:exec:{call}\nsay:{number} is over")
    await shown(platform, f"(#{number})")


async def test_ids_tell_whether_a_yes_came_after_its_question(world: World) -> None:
    async with LiveDiscord() as discord_server, DenseSlack() as slack_server:
        discord = OnDiscord(discord_server, Random(1), chats=1)
        slack = OnSlack(slack_server, Random(1), chats=1)
        world.configure(more=discord.table() + slack.table())
        await world.start()
        await discord.connected()
        await slack.connected()
        (d,), (s,) = discord.chats, slack.chats
        await asks(discord, 1, SHORT)
        await asks(slack, 2, SHORT)
        assert "<U+202E>" in "".join(discord.shown(d))
        assert "<U+202E>" in "".join(slack.shown(s))
        before: dict[str, Any] = {"id": snowflake(1_700_000_000.0, 1)}
        await discord_server.say(d, "yes 1", **before)
        thread = {"thread_ts": slack_server.sent(s)[0]["thread_ts"]}
        slack_server.say(s, "yes 2", ts="1700000000.000001", **thread)
        await shown(discord, "before you were shown #1")
        await shown(slack, "before you were shown #2")
        for platform, number in ((discord, 1), (slack, 2)):
            assert not (world.workspace / platform.name).exists()
            await platform.say(platform.chats[0], f"yes {number}")
            await shown(platform, f"{number} is over")
            assert (world.workspace / platform.name).exists()


async def test_what_does_not_fit_is_approved_once_it_was_shown(world: World) -> None:
    async with LiveDiscord() as discord_server, DenseSlack() as slack_server:
        discord = OnDiscord(discord_server, Random(1), chats=1)
        slack = OnSlack(slack_server, Random(1), chats=1)
        world.configure(more=discord.table() + slack.table())
        await world.start()
        await discord.connected()
        await slack.connected()
        (d,), (s,) = discord.chats, slack.chats
        await asks(discord, 1, LONG)
        await asks(slack, 2, LONG)
        for platform, number in ((discord, 1), (slack, 2)):
            (chat,) = platform.chats
            await platform.say(chat, f"yes {number}")
            await shown(platform, f"/show {number} shows all of it")
        await discord_server.press(discord_server.mine(d)[-2], "Show all of it")
        asking = next(m for m in slack_server.sent(s) if "Show all of it" in json.dumps(m))
        slack_server.press(s, asking, "Show all of it")
        for platform, number in ((discord, 1), (slack, 2)):
            await shown(platform, f"All of #{number}")
            (chat,) = platform.chats
            await platform.say(chat, f"yes {number}")
            await shown(platform, f"{number} is over")
            assert (world.workspace / platform.name).exists()
        assert any("code.txt" in json.dumps(m) for m in discord_server.mine(d))
        assert any("code.txt" in json.dumps(m) for m in slack_server.sent(s))
