"""Discord plays a spoken answer as a voice message, and has the file where it does not."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest

from nanobot.errors import OutcomeUnknown
from nanobot.messages import Attachment
from nanobot.ports import OutboundPart
from nanobot_channels.discord import DiscordChannel
from tests.channels.discording import DM, opened
from tests.doubles import discord_server
from tests.doubles.discord_rules import IS_VOICE_MESSAGE
from tests.doubles.discord_server import DiscordServer
from tests.doubles.sounds import opus

CHAT = discord_server.DM
POST = "POST /channels/{channel}/messages"
SPOKEN = opus([10] * 50 + [90] * 50)
PART = OutboundPart(
    text="", key="run:0:voice:0", file=Attachment("voice", name="answer.ogg", size=len(SPOKEN))
)


@pytest.fixture
async def channel(discord: DiscordServer) -> AsyncIterator[DiscordChannel]:
    async with opened(discord) as running:
        yield running


async def test_it_says_how_long_it_is_and_how_it_looks(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    number = await channel.send_file(DM, PART, SPOKEN)
    (message,) = discord.mine(CHAT)
    assert message["id"] == number
    assert message["flags"] == IS_VOICE_MESSAGE
    (file,) = message["attachments"]
    assert file["duration_secs"] == 2.0
    assert base64.b64decode(file["waveform"]) == bytes([0] * 10 + [255] * 10)
    assert discord.calls_of(POST)[0].json["enforce_nonce"] is True


async def test_it_is_taken_once(discord: DiscordServer, channel: DiscordChannel) -> None:
    first = await channel.send_file(DM, PART, SPOKEN)
    assert await channel.send_file(DM, PART, SPOKEN) == first
    assert len(discord.mine(CHAT)) == 1


async def test_where_voice_messages_are_refused_it_is_a_file(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.fail(POST, status=403, code=50173)
    await channel.send_file(DM, PART, SPOKEN)
    (message,) = discord.mine(CHAT)
    assert message["attachments"][0]["filename"] == "answer.ogg"
    assert not message.get("flags", 0) & IS_VOICE_MESSAGE


async def test_what_may_have_arrived_is_not_sent_again_as_a_file(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.fail(POST, drop="after")
    with pytest.raises(OutcomeUnknown):
        await channel.send_file(DM, PART, SPOKEN)
    assert len(discord.mine(CHAT)) == 1


@pytest.mark.parametrize("content", [b"ID3 music", SPOKEN[:60]])
async def test_what_cannot_be_played_as_one_is_a_file(
    discord: DiscordServer, channel: DiscordChannel, content: bytes
) -> None:
    await channel.send_file(DM, PART, content)
    assert discord.mine(CHAT)[0]["attachments"][0]["filename"] == "answer.ogg"


async def test_a_recording_that_is_no_answer_stays_a_file(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    part = OutboundPart(text="", key="run:1", file=Attachment("audio", name="song.ogg"))
    await channel.send_file(DM, part, SPOKEN)
    assert discord.mine(CHAT)[0]["attachments"][0]["filename"] == "song.ogg"
