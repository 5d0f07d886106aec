"""A chat that goes on under another id on its platform is the same chat here."""

from __future__ import annotations

import pytest

from nanobot.bus.gate import GroupMode
from nanobot.config.settings.channels import ChatSettings
from nanobot.errors import StoreUnwritable
from nanobot.messages import Address
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.platform import MEMBER


async def arrived(bot: FakeGateway) -> tuple[str, str]:
    message = await bot.channel.pop()
    return message.text, message.address.chat_id


def chats(bot: FakeGateway) -> set[str]:
    return {message.address.chat_id for message in bot.channel.sent}


async def test_its_conversation_goes_on_where_it_is_now() -> None:
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            await bot.channel.push("before", chat="1")
            assert await arrived(bot) == ("echo: before", "1")
            await bot.intake.moved("1", "-100")
            await bot.channel.push("after", chat="-100")
            assert await arrived(bot) == ("echo: after", "-100")
            assert "before" in str(bot.provider.requests[-1].messages)
        async with gateway(home=home) as bot:
            await bot.channel.push("and on", chat="-100")
            assert await arrived(bot) == ("echo: and on", "-100")
            assert "before" in str(bot.provider.requests[-1].messages)
            assert await bot.intake.chats() == [Address("fake", "-100")]
            assert bot.home.entries("fake:-100") == []


async def test_messages_are_numbered_anew_there_and_none_is_taken_for_known() -> None:
    async with gateway() as bot:
        await bot.channel.push("before", chat="1", key="7")
        await arrived(bot)
        await bot.intake.moved("1", "-100")
        await bot.channel.push("after", chat="-100", key="7")
        assert await arrived(bot) == ("echo: after", "-100")
        await bot.channel.push("after", chat="-100", key="7")
        await bot.settle()
        assert len(bot.provider.requests) == 2


async def test_a_move_is_told_twice_and_on_from_there(bot: FakeGateway) -> None:
    await bot.channel.push("before", chat="1")
    await arrived(bot)
    for old, new in (("1", "-100"), ("1", "-100"), ("-100", "-200"), ("-200", "1")):
        await bot.intake.moved(old, new)
    for chat in ("1", "-100", "-200"):
        await bot.channel.push(f"in {chat}", chat=chat)
        assert await arrived(bot) == (f"echo: in {chat}", "-200")
    assert "before" in str(bot.provider.requests[-1].messages)


async def test_a_move_that_could_not_be_stored_is_not_acted_upon(bot: FakeGateway) -> None:

    def before(verb: str) -> None:
        if verb == "move_chat":
            raise StoreUnwritable("the disk is full")

    bot.process.before = before
    with pytest.raises(StoreUnwritable):
        await bot.intake.moved("1", "-100")
    await bot.channel.push("hello", chat="1")
    assert await arrived(bot) == ("echo: hello", "1")


@pytest.mark.parametrize("configured", ["1", "-100"])
async def test_its_settings_hold_by_the_id_of_before_and_by_that_of_now(configured: str) -> None:
    chat = ChatSettings(groups="all", members=("somebody",))
    options = Options(groups=GroupMode(usual="off", chats={configured: chat}))
    async with gateway(options=options) as bot:
        await bot.intake.moved("1", "-100")
        await bot.channel.push("hello", chat="-100", sender="somebody", group=True, addressed=False)
        assert await arrived(bot) == ("echo: hello", "-100")
        await bot.channel.push("hello", chat="2", sender=MEMBER, group=True, addressed=False)
        await bot.settle()
        assert chats(bot) == {"-100"}
