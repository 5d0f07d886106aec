"""An outage ends for all chats of its platform at once; a chat in its own trouble waits alone."""

from __future__ import annotations

from collections import Counter

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import NotSent, OutcomeUnknown
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock
from tests.channels.seeing import clock_of
from tests.sampling import few

CHATS = [str(number) for number in range(1, 21)]
OUTAGES = [NotSent("503"), OutcomeUnknown("502")]


async def owe(bot: FakeGateway, chat: str, text: str) -> None:
    address = Address("fake", chat)
    message = OutboundMessage(
        address=address, text=text, key=f"{chat}:{text}", kind=OutboundKind.POST
    )
    await bot.journal.post(f"fake:{chat}", message)
    bot.bus.owed(address)


async def pass_seconds(bot: FakeGateway, seconds: float) -> None:
    for _ in range(int(seconds * 4)):
        clock_of(bot).advance(0.25)
        await bot.settle()


def fail_all(bot: FakeGateway, error: Exception) -> None:
    for chat in CHATS:
        bot.channel.fail(*[error] * 10_000, chat=chat)


@pytest.mark.process
@pytest.mark.parametrize("lasts", few([30, 5, 90]))
@pytest.mark.parametrize("error", OUTAGES, ids=["not sent", "unknown"])
async def test_within_seconds_of_its_end_everybody_has_their_answer(
    error: Exception, lasts: int
) -> None:
    async with MemoryHome(ManualClock(instant=False)) as home, gateway(home=home) as bot:
        fail_all(bot, error)
        for chat in CHATS:
            await owe(bot, chat, "hello")
        await pass_seconds(bot, lasts)
        assert bot.channel.sent == []
        bot.channel.failures.clear()
        await pass_seconds(bot, 5 if lasts <= 30 else lasts / 10 + 2)
        assert sorted(message.address.chat_id for message in bot.channel.sent) == sorted(CHATS)


@pytest.mark.process
async def test_what_may_have_arrived_is_sent_a_dozen_times_a_day_at_most_to_each_of_twenty() -> (
    None
):
    async with MemoryHome(ManualClock(instant=False)) as home, gateway(home=home) as bot:
        for chat in CHATS:
            bot.channel.fail(*[OutcomeUnknown("502")] * 10_000, chat=chat, applied=True)
            await owe(bot, chat, "hello")
        for _ in range(24 * 20):
            clock_of(bot).advance(180)
            await bot.settle()
        shown = Counter(message.address.chat_id for message in bot.channel.sent)
        assert max(shown.values()) <= 26
        assert sum(shown.values()) <= 20 * 20


def marked(bot: FakeGateway) -> int:
    return sum(REPEAT_LINE in message.text for message in bot.channel.sent)


@pytest.mark.process
async def test_answers_owed_during_an_outage_are_not_said_to_be_repeats() -> None:
    """Two sends were in flight when it began; eighteen answers came while it lasted."""
    async with MemoryHome(ManualClock(instant=False)) as home, gateway(home=home) as bot:
        fail_all(bot, OutcomeUnknown("502"))
        for number, chat in enumerate(CHATS):
            await owe(bot, chat, "hello")
            await pass_seconds(bot, 0.25 if number < 2 else 1.5)
        bot.channel.failures.clear()
        await pass_seconds(bot, 10)
        assert sorted(message.address.chat_id for message in bot.channel.sent) == sorted(CHATS)
        assert marked(bot) <= 6


async def test_two_chats_in_doubt_for_good_hold_up_a_third_for_seconds_only() -> None:
    async with MemoryHome(ManualClock(instant=False)) as home, gateway(home=home) as bot:
        for chat in ("1", "2"):
            bot.channel.fail(*[OutcomeUnknown("500")] * 10_000, chat=chat)
            await owe(bot, chat, "hello")
        await pass_seconds(bot, 1)
        for number in range(5):
            await owe(bot, "3", f"text {number}")
            await pass_seconds(bot, 5)
            assert len(bot.channel.sent) == number + 1
        assert marked(bot) == 0


@pytest.mark.process
async def test_a_chat_in_trouble_of_its_own_is_not_tried_whenever_another_has_success() -> None:
    async with MemoryHome(ManualClock(instant=False)) as home, gateway(home=home) as bot:
        bot.channel.fail(*[NotSent("500")] * 10_000, chat="1")
        await owe(bot, "1", "hello")
        for number in range(120):
            await owe(bot, "2", f"text {number}")
            await pass_seconds(bot, 1)
        tries = [address for address, _part in bot.channel.attempts if address.chat_id == "1"]
        assert len(tries) < 15
        assert len(bot.channel.sent) == 120
        bot.channel.failures.clear()
        await pass_seconds(bot, 36)
        assert len(bot.channel.sent) == 121
