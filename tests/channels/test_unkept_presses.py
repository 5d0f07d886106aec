"""A press or a command that a full disk could not keep comes again, or its person is told to repeat
it: on every platform with presses or reactions."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from nanobot.errors import StoreUnwritable
from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import Channel
from nanobot_channels.telegram import TelegramChannel
from tests.channels.discording import opened
from tests.channels.matrixing import channel as matrix_channel
from tests.channels.matrixing import receiving as matrix_receiving
from tests.doubles import discord_server
from tests.doubles.discord_server import DiscordServer
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.matrix_rooms import ANN
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.slack_bench import Bench, bench
from tests.doubles.telegram_server import TelegramServer

FULL = "the disk is full"
AGAIN = "Try again later."


async def _ask(channel: Channel, chat: Address) -> None:
    question = OutboundMessage(
        address=chat, text="May I?", key="q", choices=(Choice("Yes", "/yes"),)
    )
    await channel.send(chat, channel.render(question)[0])


async def _fails(running: asyncio.Task[None]) -> None:
    with pytest.raises(StoreUnwritable):
        async with asyncio.timeout(10.0):
            await running


async def test_telegram_delivers_a_press_again(
    telegram: TelegramServer, channel: TelegramChannel, intake: FakeIntake
) -> None:
    telegram.say(1, "hi")
    await _ask(channel, Address("telegram", "1"))
    telegram.press(await telegram.reply_in(1), "Yes")
    intake.failures.append(StoreUnwritable(FULL))
    await _fails(asyncio.create_task(channel.run(intake)))
    again = asyncio.create_task(channel.run(intake))
    assert [message.text for message in await intake.received(2)] == ["hi", "/yes"]
    again.cancel()
    with suppress(asyncio.CancelledError):
        await again


@pytest.mark.parametrize("kind", ["a press", "a command"])
async def test_discord_tells_who_pressed(
    kind: str, discord: DiscordServer, intake: FakeIntake
) -> None:
    async with opened(discord) as channel:
        await _ask(channel, Address("discord", discord_server.DM))
        running = asyncio.create_task(channel.run(intake))
        await intake.until(lambda: intake.stored is not None)
        intake.failures.append(StoreUnwritable(FULL))
        if kind == "a press":
            question = await discord.reply_in(discord_server.DM)
            number = await discord.press(question, "Yes")
        else:
            number = await discord.use(discord_server.DM, "stop")
        await _fails(running)
    answer = discord.answers[number]
    assert answer["type"] == 4
    assert answer["data"]["content"].endswith(AGAIN)
    assert answer["data"]["flags"] & 64, "only they see it"


@pytest.mark.parametrize("kind", ["a press", "a command"])
async def test_slack_tells_who_pressed_and_acknowledges_nothing(kind: str) -> None:
    async with bench(slash_command="/nanobot") as b, b.running(ends=True) as running:
        await _ask(b.channel, Address("slack", "C1"))
        b.intake.failures.append(StoreUnwritable(FULL))
        if kind == "a press":
            envelope = b.slack.press("C1", b.slack.sent("C1")[-1], "Yes")
        else:
            envelope = b.slack.command("stop", "C1")
        await asyncio.wait([running], timeout=10.0)
    assert isinstance(running.exception(), StoreUnwritable)
    assert not envelope.acknowledged
    (told,) = b.slack.ephemeral
    assert (told["channel"], told["user"]) == ("C1", "U1")
    assert told["text"].endswith(AGAIN)


async def test_slack_tells_nobody_of_a_message_which_comes_again(b: Bench) -> None:
    async with b.running(ends=True) as running:
        b.intake.failures.append(StoreUnwritable(FULL))
        b.slack.say("D1", "hi")
        await asyncio.wait([running], timeout=10.0)
    assert isinstance(running.exception(), StoreUnwritable)
    assert b.slack.ephemeral == []


async def test_matrix_delivers_a_reaction_again(matrix: MatrixServer, intake: FakeIntake) -> None:
    question = matrix.say(matrix.dm, "a question")
    first = matrix_channel(matrix)
    running = asyncio.create_task(first.run(intake))
    await intake.until(lambda: intake.stored is not None)
    intake.failures.append(StoreUnwritable(FULL))
    relates = {"rel_type": "m.annotation", "event_id": question["event_id"], "key": "👍"}
    matrix.rooms.add(matrix.dm, "m.reaction", {"m.relates_to": relates}, sender=ANN)
    await _fails(running)
    await first.close()
    async with matrix_receiving(matrix_channel(matrix), intake):
        received = await intake.received(1)
    assert [(message.text, message.reaction) for message in received] == [("👍", True)]
