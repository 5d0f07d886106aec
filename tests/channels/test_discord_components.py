"""Components on Discord: sent once, found again, never turned back, and done without elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from nanobot.errors import FormRefused, NotSent, Refused
from nanobot.messages import Address, Choice, OutboundKind, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.discord import DiscordChannel
from tests.channels.discording import DM, GENERAL, opened, receiving
from tests.doubles import discord_server
from tests.doubles.discord_rules import IS_COMPONENTS_V2, shown_text
from tests.doubles.discord_server import CHANNEL, DiscordServer
from tests.doubles.fake_intake import FakeIntake

CHAT = discord_server.DM
POST = "POST /channels/{channel}/messages"
PATCH = "PATCH /channels/{channel}/messages/{message}"
LONG = " ".join(f"word{number}" for number in range(400))
QUESTION = (Choice("Approve", "/approve 3"), Choice("Deny", "/deny 3"))


@pytest.fixture
async def channel(discord: DiscordServer) -> AsyncIterator[DiscordChannel]:
    async with opened(discord) as running:
        yield running


def outbound(text: str, address: Address = DM, **fields: Any) -> OutboundMessage:
    return OutboundMessage(address=address, text=text, key="run", **fields)


def rendered(channel: DiscordChannel, text: str, **fields: Any) -> OutboundPart:
    (part,) = channel.render(outbound(text, **fields))
    return part


async def test_a_long_answer_is_one_message_that_is_taken_once(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    part = rendered(channel, LONG)
    first = await channel.send(DM, part)
    assert await channel.send(DM, part) == first
    (message,) = discord.mine(CHAT)
    assert (shown_text(message), message["flags"]) == (LONG, IS_COMPONENTS_V2)


async def test_the_history_tells_what_became_of_it(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    part = rendered(channel, f"{LONG}\n\n|a|b|\n|-|-|\n|1|2|\n\nend")
    discord.fail(POST, drop="after")
    with pytest.raises(Exception, match="no answer"):
        await channel.send(DM, part)
    discord.forget_nonces()
    assert await channel.find(DM, part, 1.0) == discord.mine(CHAT)[0]["id"]
    other = msgspec.structs.replace(rendered(channel, f"{LONG} other"), key="other")
    assert await channel.find(DM, other, 1.0) is None


async def test_a_preview_of_content_becomes_a_message_of_components(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    number = await channel.send(DM, rendered(channel, "The beginning"))
    await channel.edit(DM, number, rendered(channel, LONG))
    (message,) = discord.mine(CHAT)
    assert (message["content"], shown_text(message)) == ("", LONG)


@pytest.mark.parametrize("known", [True, False], ids=["by this process", "by one before"])
async def test_what_is_of_components_stays_so_when_its_text_gets_short(
    discord: DiscordServer, channel: DiscordChannel, *, known: bool
) -> None:
    number = await channel.send(DM, rendered(channel, LONG))
    async with opened(discord) as another:
        await (channel if known else another).edit(DM, number, rendered(channel, "short"))
    (message,) = discord.mine(CHAT)
    assert shown_text(message) == "short"
    assert len(discord.calls_of(PATCH)) == (1 if known else 2)


async def test_a_chat_that_takes_none_is_asked_once(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.native = False
    with pytest.raises(FormRefused):
        await channel.send(DM, rendered(channel, LONG))
    parts = channel.render(outbound(LONG))
    assert len(parts) == 2
    for part in parts:
        await channel.send(DM, part)
    assert " ".join(message["content"] for message in discord.mine(CHAT)) == LONG
    assert len(channel.render(outbound(LONG, GENERAL))) == 1


async def test_an_edit_learns_it_too(discord: DiscordServer, channel: DiscordChannel) -> None:
    discord.native = False
    number = await channel.send(DM, rendered(channel, "The beginning"))
    with pytest.raises(FormRefused):
        await channel.edit(DM, number, rendered(channel, LONG))
    await channel.edit(DM, number, channel.render(outbound(LONG))[0])
    assert discord.mine(CHAT)[0]["content"].startswith("word0 word1")


@pytest.mark.parametrize("fault", [{"status": 400, "code": 20009}, {"status": 413, "code": 40005}])
async def test_what_is_refused_for_what_it_says_is_no_word_about_components(
    discord: DiscordServer, channel: DiscordChannel, fault: dict[str, Any]
) -> None:
    discord.fail(POST, **fault)
    with pytest.raises(Refused) as refused:
        await channel.send(DM, rendered(channel, LONG))
    assert not isinstance(refused.value, FormRefused)
    assert len(channel.render(outbound(LONG))) == 1


async def test_a_message_that_is_gone_is_no_word_about_components(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    with pytest.raises(Refused) as refused:
        await channel.edit(DM, "77", rendered(channel, LONG))
    assert not isinstance(refused.value, FormRefused)
    assert len(discord.calls_of(PATCH)) == 1


async def test_where_they_were_taken_one_refusal_is_about_the_text(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    await channel.send(DM, rendered(channel, LONG))
    discord.fail(POST, status=400, code=50035, times=2)
    with pytest.raises(FormRefused):
        await channel.send(DM, msgspec.structs.replace(rendered(channel, LONG), key="next"))
    assert len(channel.render(outbound(LONG))) == 1
    with pytest.raises(FormRefused):
        await channel.send(DM, msgspec.structs.replace(rendered(channel, LONG), key="third"))
    assert len(channel.render(outbound(LONG))) == 2


async def test_a_refused_part_comes_with_what_it_is_in_content(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    part = rendered(channel, f"**{LONG}**\n\n```py\nx = 1\n```", choices=QUESTION, reply_to="77")
    discord.native = False
    with pytest.raises(FormRefused):
        await channel.send(DM, part)
    with pytest.raises(FormRefused) as refused:  # this time nobody is asked
        await channel.send(DM, part)
    assert len(discord.calls_of(POST)) == 1
    for older in refused.value.instead:
        await channel.send(DM, msgspec.structs.replace(older, key=""))
    first, last = discord.mine(CHAT)
    assert first["content"].startswith("**word0 word1")
    assert last["content"].endswith("```py\nx = 1\n```")
    assert not first.get("components")
    assert [button["label"] for button in last["components"][0]["components"]] == [
        "Approve",
        "Deny",
    ]


async def test_a_decided_question_has_no_buttons_and_says_by_whom(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    fields: dict[str, Any] = {"kind": OutboundKind.APPROVAL}
    number = await channel.send(DM, rendered(channel, "May I?", choices=QUESTION, **fields))
    decided = rendered(channel, "May I?\n\nApproved by Ann", replaces="question", **fields)
    await channel.edit(DM, number, decided)
    (message,) = discord.mine(CHAT)
    assert shown_text(message) == "May I?\n\nApproved by Ann"
    (box,) = message["components"]
    assert "accent_color" not in box
    assert len(box["components"]) == 1


async def test_a_button_in_a_box_is_answered_at_once_and_pressed_twice_says_it_twice(
    discord: DiscordServer, channel: DiscordChannel, intake: FakeIntake
) -> None:
    async with receiving(channel, intake):
        part = rendered(channel, "May I?", address=GENERAL, choices=QUESTION)
        await channel.send(GENERAL, part)
        question = discord.mine(CHANNEL)[0]
        presses = [await discord.press(question, label) for label in ("Approve", "Deny")]
        received = await intake.received(2)
        await discord.until(lambda: set(presses) <= discord.answers.keys())
    assert [message.text for message in received] == ["/approve 3", "/deny 3"]
    assert len({message.dedupe_key for message in received}) == 2
    assert [discord.answers[press] for press in presses] == [{"type": 6}, {"type": 6}]


async def test_a_reply_to_what_the_bot_said_in_components_quotes_it(
    discord: DiscordServer, channel: DiscordChannel, intake: FakeIntake
) -> None:
    async with receiving(channel, intake):
        await channel.send(DM, rendered(channel, LONG))
        (message,) = discord.mine(CHAT)
        await discord.say(
            CHAT,
            "why?",
            type=19,
            message_reference={"message_id": message["id"]},
            referenced_message=message,
        )
        await discord.ask_about(message)
        replied, question = await intake.received(2)
    assert replied.quote == LONG
    assert question.quote.startswith("word0 word1")


@pytest.mark.parametrize("previews", [True, False])
async def test_links_show_previews_where_they_are_wanted(
    discord: DiscordServer, *, previews: bool
) -> None:
    async with opened(discord, link_previews=previews) as channel:
        await channel.send(DM, rendered(channel, "see https://example.org"))
        assert discord.mine(CHAT)[0]["flags"] == (0 if previews else 4)
        number = await channel.send(DM, msgspec.structs.replace(rendered(channel, "a"), key="b"))
        await channel.edit(DM, number, rendered(channel, LONG))
    assert discord.mine(CHAT)[1]["flags"] == IS_COMPONENTS_V2 | (0 if previews else 4)


async def test_a_limit_of_the_channel_is_obeyed_for_components_too(
    discord: DiscordServer, channel: DiscordChannel
) -> None:
    discord.fail(POST, status=429, retry_after=3.0)
    with pytest.raises(NotSent) as slow:
        await channel.send(DM, rendered(channel, LONG))
    assert slow.value.retry_after == 3.0
