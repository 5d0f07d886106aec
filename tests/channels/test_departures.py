"""Answers whose send begins in the transaction that ends their run: once, in order, and marked
only if they may have arrived."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import NotSent, StoreUnwritable
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.store import outbox
from nanobot.session.outbox import OutboundRow
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.model import Held, ScriptedProvider
from tests.channels.seeing import clock_of, seen, standing, states

TOGETHER = "finish+begin_send"


async def owe(bot: FakeGateway, text: str) -> None:
    address = Address("fake", "1")
    message = OutboundMessage(address=address, text=text, key=text, kind=OutboundKind.POST)
    await bot.journal.post(str(address), message)
    bot.bus.owed(address)


async def test_an_answer_is_sent_without_a_transaction_of_its_own() -> None:
    async with gateway() as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
        await bot.settle()
        assert bot.process.verbs.count(TOGETHER) == 1
        assert "begin_send" not in bot.process.verbs
        assert states(bot) == ["sent"]


async def test_behind_a_message_that_waits_the_answer_is_sent_in_order() -> None:
    async with standing() as home, gateway(home=home) as bot:
        bot.channel.fail(NotSent("429", retry_after=20))
        await owe(bot, "before")
        await clock_of(bot).asleep()
        await bot.channel.push("hello")
        await bot.settle()
        assert TOGETHER not in bot.process.verbs
        clock_of(bot).advance(20)
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["before", "echo: hello"]


async def test_a_message_that_came_while_the_run_ended_is_sent_after_the_answer() -> None:
    async with gateway() as bot:

        def meanwhile(verb: str) -> None:
            if verb == "finish":
                bot.bus.owed(Address("fake", "1"))

        bot.process.before = meanwhile
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
        await owe(bot, "after")
        assert (await bot.channel.pop()).text == "after"
        await bot.settle()
        assert seen(bot) == ["echo: hello", "after"]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_answer_is_not_marked_though_it_is_unknown_whether_its_run_ended(
    when: str,
) -> None:
    """The store failed around the commit: this process knows that it has not sent anything."""
    async with gateway() as bot:
        failures = [StoreUnwritable("the disk is full")]

        def fail(verb: str) -> None:
            if verb == "finish" and failures:
                raise failures.pop()

        setattr(bot.process, when, fail)
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
        await bot.settle()
        assert not failures
        assert seen(bot) == ["echo: hello"]
        assert states(bot) == ["sent"]


async def test_a_crash_behind_that_transaction_leaves_an_answer_in_doubt() -> None:
    """It was not sent, but the next process cannot know that."""
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            bot.process.after = lambda verb: bot.crash() if verb == "begin_send" else None
            await bot.channel.push("hello")
            await bot.settle()
            assert seen(bot) == []
        async with gateway(home=home) as bot:
            assert (await bot.channel.pop()).text == f"echo: hello\n\n{REPEAT_LINE}"


async def test_an_answer_that_was_not_sent_is_tried_again_without_doubt() -> None:
    async with gateway() as bot:
        bot.channel.fail(NotSent("503"))
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
        await bot.settle()
        assert TOGETHER in bot.process.verbs
        assert seen(bot) == ["echo: hello"]
        (row,) = rows(bot)
        assert (row.state, row.attempts, row.duplicate_sends) == ("sent", 2, 0)


def rows(bot: FakeGateway) -> list[OutboundRow]:
    return list(bot.home.do(lambda connection: outbox.listing(connection, None, 100)))


async def test_an_order_to_stop_while_the_run_ends_keeps_no_chat() -> None:
    held = Held()
    async with gateway(ScriptedProvider(held, "next")) as bot:
        await bot.channel.push("hello")
        await held.reached.wait()
        await bot.channel.push("/stop")
        assert "topped" in (await bot.channel.pop()).text
        await bot.channel.push("more")
        assert (await bot.channel.pop()).text == "next"


async def test_flushing_waits_for_an_answer_that_is_being_stored() -> None:
    async with gateway() as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
        await asyncio.wait_for(bot.host.flush(1), 5)
        assert states(bot) == ["sent"]
