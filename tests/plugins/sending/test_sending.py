"""What is said to a conversation, or to the people of a chat, from outside of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.sending.operations import operations
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from tests.stored import log_of, outbox_of

SENDING = Options(brings=lambda _: Brought(operations=tuple(operations())))


@pytest.fixture
async def bot() -> AsyncIterator[FakeGateway]:
    """Its model echoes."""
    async with gateway(options=SENDING) as opened:
        yield opened


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    """What an operation gives its owner."""
    return await bot.operations.call(operation, arguments)


async def test_a_message_is_put_into_a_session_once_and_answered_in_its_chat() -> None:
    async with gateway(options=SENDING) as bot:
        first = await call(bot, "send", text="hello", session="fake:1", key="k")
        again = await call(bot, "send", text="hello", session="fake:1", key="k")
        assert (first.fresh, again.fresh) == (True, False)
        await bot.provider.asked(1)
        await bot.settle()
        assert (first.address, again.address) == ("fake:1", "fake:1")
        reply = await bot.channel.pop()
        assert (str(reply.address), reply.text) == ("fake:1", "echo: hello")
        with pytest.raises(UsageError, match="1 to 1,000,000"):
            await call(bot, "send", text=" ")


async def test_what_is_sent_into_a_session_of_the_terminal_waits_for_the_terminal() -> None:
    async with gateway(options=SENDING) as bot:
        sent = await call(bot, "send", text="hello", session="cli:weekly")
        assert sent.address == "cli:weekly"
        await bot.provider.asked(1)
        await bot.settle()
        (row,) = await outbox_of(bot.records).listed(state="", limit=2)
        assert (row.address, row.text) == ("cli:weekly", "echo: hello")


async def test_a_chat_is_notified_without_the_model_and_only_once(bot: FakeGateway) -> None:
    for _ in range(2):
        posted = await call(bot, "notify", chat="fake:1", text="The backup is done.", key="k")
        assert posted.address == "fake:1"
    message = await bot.channel.pop()
    assert (str(message.address), message.text) == ("fake:1", "The backup is done.")
    await bot.settle()
    assert len(bot.channel.sent) == 1
    assert bot.provider.requests == []
    (*_, last) = await log_of(bot.records).entries("fake:1", after=0, limit=10)
    assert last.body
    assert last.body["text"] == "The backup is done."


@pytest.mark.parametrize("chat", ["nowhere:1", "fake", "fake:", "1001"])
async def test_a_chat_that_there_is_not_is_not_notified(chat: str, bot: FakeGateway) -> None:
    with pytest.raises(UsageError, match="write CHANNEL:CHAT \\(channels: fake\\)"):
        await call(bot, "notify", chat=chat, text="hello")


async def test_a_message_sent_from_a_chat_is_answered_where_its_session_is_only_once() -> None:
    async with gateway(options=SENDING) as bot:
        for _ in range(2):
            await bot.channel.push("/send session=fake:2 what is new?", key="u1")
        messages = [await bot.channel.pop() for _ in range(2)]
        replies = {message.text: str(message.address) for message in messages}
        assert replies["echo: what is new?"] == "fake:2"
        await bot.settle()
        assert len(bot.channel.sent) == 2
