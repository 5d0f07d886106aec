"""Groups: what is meant for the assistant is answered, and nothing else is even kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.bus.gate import GroupMode
from nanobot.config.settings.channels import ChatSettings
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.store.database import schema
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.platform import MEMBER, OWNER

STRANGER = "666"
GROUP = "-100"


def said(text: str, *, addressed: bool = False, group: bool = True) -> InboundMessage:
    return InboundMessage(
        address=Address("fake", GROUP),
        message_id="1",
        dedupe_key="1",
        sender=Sender(OWNER),
        text=text,
        sent_at=0.0,
        group=group,
        addressed=addressed,
    )


async def say(
    bot: FakeGateway, text: str, sender: str = OWNER, *, chat: str = GROUP, **fields: bool | str
) -> None:
    """Somebody writes in the group, to nobody in particular unless said so."""
    options: dict[str, Any] = {"group": True, "addressed": False, **fields}
    await bot.channel.push(text, sender=sender, chat=chat, **options)


def kept(bot: FakeGateway) -> int:
    """How many messages the store has seen."""
    return len(bot.home.do(lambda c: c.execute(schema.inbound.select()).all()))


async def test_what_is_not_for_the_assistant_is_dropped_and_the_cursor_moves_over_it() -> None:
    async with gateway() as bot:
        await say(bot, "lovely weather", key="u1")
        await say(bot, "indeed", MEMBER, key="u2")
        assert kept(bot) == 0
        assert await bot.intake.cursor() == "u2"
        await say(bot, "what do you think?", MEMBER, addressed=True)
        assert (await bot.channel.pop(GROUP)).text == "echo: what do you think?"
        assert len(bot.provider.requests) == 1


async def test_strangers_in_a_group_meet_silence_even_when_they_ask(bot: FakeGateway) -> None:
    for text in ("hello bot", "/help", "/stop"):
        await say(bot, text, STRANGER, addressed=True)
        await say(bot, text, STRANGER)
    await say(bot, "/stop", STRANGER, pressed=True)
    await bot.settle()
    assert bot.channel.sent == []
    assert kept(bot) == 0


async def test_our_commands_need_no_mention_from_members_but_do_from_guests() -> None:
    async with gateway(options=Options(guests=("7",))) as bot:
        for sender in (OWNER, MEMBER):
            await say(bot, "/stop", sender)
            assert "running here" in (await bot.channel.pop(GROUP)).text
        for text in ("/stop@another_bot", "/play music", "stop", " /stop"):
            await say(bot, text)
        await say(bot, "/stop", "7")
        await bot.settle()
        assert len(bot.channel.sent) == 2
        await say(bot, "/stop", "7", addressed=True)
        assert "running here" in (await bot.channel.pop(GROUP)).text


async def test_a_pressed_button_is_meant_for_whoever_showed_it(bot: FakeGateway) -> None:
    await say(bot, "/help", MEMBER, pressed=True)
    assert (await bot.channel.pop(GROUP)).text.startswith("Write to me")


async def test_where_all_is_heard_everybody_with_a_role_is_answered() -> None:
    async with gateway(options=Options(groups=GroupMode(usual="all"))) as bot:
        await say(bot, "lovely weather")
        assert (await bot.channel.pop(GROUP)).text == "echo: lovely weather"
        await say(bot, "indeed", STRANGER)
        await say(bot, "  ")
        await bot.settle()
        assert len(bot.channel.sent) == 1
        assert kept(bot) == 1


async def test_where_nothing_is_heard_nobody_is_not_even_owners() -> None:
    async with gateway(options=Options(groups=GroupMode(usual="off", prefix="!bot"))) as bot:
        for text in ("hello", "/stop", "!bot hello"):
            await say(bot, text, addressed=True)
            await say(bot, text, pressed=True)
        await bot.settle()
        assert kept(bot) == 0
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"


async def test_one_group_may_be_otherwise_and_have_members_of_its_own() -> None:
    rooms = {
        GROUP: ChatSettings(groups="all", members=(STRANGER,)),
        "-200": ChatSettings(members=("*",)),
    }
    async with gateway(options=Options(groups=GroupMode(chats=rooms))) as bot:
        await say(bot, "one", STRANGER)
        assert (await bot.channel.pop(GROUP)).text == "echo: one"
        await say(bot, "two", "999", chat="-200")
        await say(bot, "three", "999", chat="-200", addressed=True)
        assert (await bot.channel.pop("-200")).text == "echo: three"
        await say(bot, "four", STRANGER, chat="-300", addressed=True)
        await bot.settle()
        assert len(bot.channel.sent) == 2


async def test_a_prefix_addresses_and_is_taken_off_commands_too() -> None:
    async with gateway(options=Options(groups=GroupMode(prefix="!bot"))) as bot:
        await say(bot, "!Bot, what time is it?")
        assert (await bot.channel.pop(GROUP)).text == "echo: what time is it?"
        await say(bot, "!bot /help")
        assert (await bot.channel.pop(GROUP)).text.startswith("Write to me")
        await say(bot, "!bot")
        assert (await bot.channel.pop(GROUP)).text.startswith("Your message was empty")
        await bot.channel.push("!bot hello")
        assert (await bot.channel.pop("1")).text == "echo: !bot hello"


@pytest.mark.parametrize(
    ("prefix", "text", "left"),
    [
        ("!bot", "!bot hi", "hi"),
        ("!bot", "  !BOT:hi", "hi"),
        ("!bot", "!bot\nhi", "hi"),
        ("!bot", "!bother", None),
        ("!bot", "hi !bot", None),
        ("!", "!hi", "hi"),
        ("!", "! hi", "hi"),
        ("", "hi", None),
        ("nano", "nano", ""),
    ],
)
def test_a_prefix_stands_at_the_beginning_and_ends_as_a_word_does(
    prefix: str, text: str, left: str | None
) -> None:
    heard = GroupMode(prefix=prefix).heard(said(text))
    assert heard is not None
    assert (heard.text if heard.addressed else None) == left


@given(st.text(max_size=20), st.text(max_size=10), st.booleans())
def test_in_a_private_chat_everything_is_heard_as_it_is(
    text: str, prefix: str, addressed: bool
) -> None:
    heard = GroupMode(usual="off", prefix=prefix).heard(
        said(text, addressed=addressed, group=False)
    )
    assert heard is not None
    assert (heard.text, heard.addressed) == (text, True)
