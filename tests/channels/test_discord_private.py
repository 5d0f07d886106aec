"""What a slash command in a server is answered is seen by who used it alone, where that can be."""

from __future__ import annotations

import pytest

from nanobot.errors import OutcomeUnknown, Refused
from nanobot.messages import Address, Choice, InboundMessage, OutboundKind, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.testing.machine import ManualClock
from nanobot_channels.discord import DiscordChannel
from tests.channels.discording import opened, receiving
from tests.doubles import discord_server
from tests.doubles.discord_server import DiscordServer
from tests.doubles.fake_intake import FakeIntake

EDIT = "PATCH /webhooks/{application}/{token}/messages/@original"
ALONE = 1 << 6


def answer(
    channel: DiscordChannel,
    command: InboundMessage,
    text: str = "All is well.",
    kind: OutboundKind = OutboundKind.NOTICE,
) -> list[OutboundPart]:
    return channel.render(
        OutboundMessage(
            address=command.address, text=text, key=text[:5], kind=kind, reply_to=command.message_id
        )
    )


async def sent(channel: DiscordChannel, command: InboundMessage, part: OutboundPart) -> str:
    """As the host does with what concerns who used the command alone."""
    address, person = command.address, command.sender.id
    if channel.confides(address, person):
        try:
            return await channel.confide(address, person, part)
        except Refused:
            pass
    return await channel.send(address, part)


async def used(discord: DiscordServer, intake: FakeIntake, chat: str) -> tuple[str, InboundMessage]:
    number = await discord.use(chat, "status")
    message = (await intake.received(len(intake.messages) + 1))[-1]
    await discord.until(lambda: number in discord.answers)
    return number, message


async def test_the_answer_takes_the_place_of_the_line_that_only_its_user_sees(
    discord: DiscordServer, intake: FakeIntake
) -> None:
    async with opened(discord) as channel, receiving(channel, intake):
        number, command = await used(discord, intake, discord_server.CHANNEL)
        (part,) = answer(channel, command)
        for _ in range(2):  # as after an unknown outcome
            assert await sent(channel, command, part)
        assert command.unseen
        assert discord.answers[number]["data"]["content"] == "All is well."
        assert discord.answers[number]["data"]["flags"] & ALONE
        assert discord.mine(discord_server.CHANNEL) == []


async def test_what_is_no_word_about_the_command_is_for_everybody(discord: DiscordServer) -> None:
    async with opened(discord) as channel, receiving(channel) as intake:
        _, command = await used(discord, intake, discord_server.CHANNEL)
        (reply,) = answer(channel, command, kind=OutboundKind.REPLY)
        await sent(channel, command, reply)
        for part in answer(channel, command, "word " * 1800):
            await sent(channel, command, part)
        assert len(discord.mine(discord_server.CHANNEL)) == 4
        _, alone = await used(discord, intake, discord_server.DM)
        await sent(channel, alone, answer(channel, alone)[0])
        assert len(discord.mine(discord_server.DM)) == 1
        assert discord.calls_of(EDIT) == []


@pytest.mark.parametrize("gone", ["refused", "expired", "not acknowledged", "another process"])
async def test_where_it_cannot_be_private_it_is_a_message(
    discord: DiscordServer, gone: str
) -> None:
    clock, intake = ManualClock(), FakeIntake()
    async with opened(discord, clock) as channel, receiving(channel, intake):
        if gone == "not acknowledged":
            discord.fail("POST /interactions/{number}/{token}/callback", status=404, code=10062)
            await discord.use(discord_server.CHANNEL, "status")
            command = (await intake.received(1))[0]
        else:
            _, command = await used(discord, intake, discord_server.CHANNEL)
        (part,) = answer(channel, command)
        if gone == "expired":
            clock.advance(15 * 60)
        if gone == "refused":
            discord.fail(EDIT, status=404, code=10015)
        if gone == "another process":
            async with opened(discord, clock) as other:
                await sent(other, command, part)
        else:
            await sent(channel, command, part)
        (message,) = discord.mine(discord_server.CHANNEL)
        assert message["content"] == "All is well."


async def test_an_unknown_outcome_is_told_as_such(discord: DiscordServer) -> None:
    async with opened(discord) as channel, receiving(channel) as intake:
        _, command = await used(discord, intake, discord_server.CHANNEL)
        (part,) = answer(channel, command)
        discord.fail(EDIT, drop="after")
        with pytest.raises(OutcomeUnknown):
            await sent(channel, command, part)
        assert await sent(channel, command, part)
        assert discord.mine(discord_server.CHANNEL) == []


async def test_what_concerns_who_pressed_a_button_is_shown_to_them_alone(
    discord: DiscordServer, intake: FakeIntake
) -> None:
    async with opened(discord) as channel, receiving(channel, intake):
        where = Address("discord", discord_server.CHANNEL)
        choices = (Choice("Approve", "/approve 3"),)
        question = OutboundMessage(address=where, text="May I?", key="q", choices=choices)
        await channel.send(where, channel.render(question)[0])
        await discord.press(discord.mine(discord_server.CHANNEL)[0], "Approve")
        (press,) = await intake.received(1)
        assert channel.confides(where, press.sender.id)
        refused = OutboundMessage(
            address=where,
            text="Only owners may.",
            key="n",
            kind=OutboundKind.NOTICE,
            reply_to=press.message_id,
            only_for=press.sender.id,
        )
        await channel.confide(where, press.sender.id, channel.render(refused)[0])
        with pytest.raises(Refused):
            await channel.confide(where, "8", channel.render(refused)[0])
    (shown,) = discord.followed
    assert (shown["content"], shown["flags"] & 1 << 6) == ("Only owners may.", 1 << 6)
    assert len(discord.mine(discord_server.CHANNEL)) == 1
