"""What is owed arrives: in order, once, or saying that it may be a repeat."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable

import pytest

from nanobot.channels.delivery import MAX_AGE_SECONDS, REPEAT_LINE
from nanobot.errors import ChatGone, NobodyThere, NotSent, OutcomeUnknown, Refused, StoreUnwritable
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.ports import Capabilities, OutboundPart
from nanobot.session.entries import NoteEntry
from nanobot.session.outbox import OutboundRow
from nanobot.store.journal import outbox
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.platform import FakeChannel
from tests.agent.tooling import bodies

MARKED = f"hello\n\n{REPEAT_LINE}"


async def owe(bot: FakeGateway, *texts: str, chat: str = "1", channel: str = "fake") -> None:
    address = Address(channel, chat)
    for text in texts:
        key = f"{chat}:{text[:20]}"
        message = OutboundMessage(address=address, text=text, key=key, kind=OutboundKind.POST)
        await bot.journal.post(f"{channel}:{chat}", message)
    bot.bus.owed(address)


def texts(bot: FakeGateway, chat: str = "1") -> list[str]:
    return [one.text for one in bot.channel.sent if one.address.chat_id == chat]


def rows(bot: FakeGateway) -> list[OutboundRow]:
    """Every message ever owed, the newest first."""
    return bot.home.do(lambda connection: outbox.listing(connection, None, 100))


def states(bot: FakeGateway) -> list[str]:
    return [row.state for row in reversed(rows(bot))]


def clock_of(bot: FakeGateway) -> ManualClock:
    assert isinstance(bot.home.clock, ManualClock)
    return bot.home.clock


def standing() -> MemoryHome:
    """A home whose time stands still until it is moved on."""
    return MemoryHome(ManualClock(instant=False))


# In order


async def test_a_chats_messages_are_sent_in_order() -> None:
    async with gateway() as bot:
        await owe(bot, *"abcde")
        for text in "abcde":
            assert (await bot.channel.pop()).text == text
        await bot.settle()
        assert states(bot) == ["sent"] * 5
        assert all(row.parts[0].receipt for row in rows(bot))


async def test_a_long_message_is_sent_in_parts_each_with_its_own_key() -> None:
    async with gateway(channel=FakeChannel(limit=4)) as bot:
        await owe(bot, "abcdefghij", "k")
        assert [(await bot.channel.pop()).text for _ in range(4)] == ["abcd", "efgh", "ij", "k"]
        assert len({one.key for one in bot.channel.sent}) == 4


async def test_the_next_message_waits_until_the_first_is_through() -> None:
    async with gateway() as bot:
        bot.channel.fail(*[NotSent("503")] * 3)
        await owe(bot, "a", "b")
        await bot.channel.pop()
        await bot.channel.pop()
        assert texts(bot) == ["a", "b"]
        assert len(bot.channel.attempts) == 5


async def test_a_chat_in_trouble_keeps_only_itself_waiting() -> None:
    async with standing() as home, gateway(home=home) as bot:
        bot.channel.fail(NotSent("503"), chat="1")
        await owe(bot, "late", chat="1")
        await clock_of(bot).asleep()
        await owe(bot, "soon", "sooner", chat="2")
        assert (await bot.channel.pop()).text == "soon"
        assert (await bot.channel.pop()).text == "sooner"
        clock_of(bot).advance(10)
        assert (await bot.channel.pop()).text == "late"


async def test_what_becomes_owed_while_a_chat_is_in_trouble_is_not_forgotten() -> None:
    async with standing() as home, gateway(home=home) as bot:
        bot.channel.fail(NotSent("503"))
        await owe(bot, "a")
        await clock_of(bot).asleep()
        await owe(bot, "b")
        await bot.settle()
        clock_of(bot).advance(10)
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["a", "b"]


# Not sent


async def test_what_the_platform_says_about_waiting_is_obeyed() -> None:
    async with gateway() as bot:
        bot.channel.fail(NotSent("429", retry_after=17), NotSent("429", retry_after=0.5))
        await owe(bot, "hello")
        await bot.channel.pop()
        assert clock_of(bot).sleeps == [pytest.approx(17), pytest.approx(0.5)]


async def test_the_wait_grows_and_is_capped() -> None:
    async with gateway() as bot:
        bot.channel.fail(*[NotSent("503")] * 12)
        await owe(bot, "hello")
        await bot.channel.pop()
        waits = clock_of(bot).sleeps
        assert waits[0] < 1
        assert all(later > earlier for earlier, later in itertools.pairwise(waits[:5]))
        assert 20 < max(waits) <= 36
        assert len(waits) == 12
        assert not rows(bot)[0].maybe_duplicate


async def test_a_message_dies_of_age_and_not_of_attempts() -> None:
    async with gateway() as bot:
        bot.channel.fail(*[NotSent("429", retry_after=60)] * 2_000)
        began = clock_of(bot).now()
        await owe(bot, "hello")
        while states(bot) != ["dead"]:
            await bot.settle()
        assert MAX_AGE_SECONDS <= clock_of(bot).now() - began <= MAX_AGE_SECONDS + 120
        assert len(bot.channel.attempts) == pytest.approx(24 * 60, abs=2)
        assert bodies(bot, NoteEntry)[-1].what == "undelivered"
        bot.channel.failures.clear()
        await owe(bot, "next")
        assert (await bot.channel.pop()).text == "next"


# Unknown


async def test_an_unknown_outcome_is_sent_again_with_a_line_that_says_so() -> None:
    async with gateway() as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        await owe(bot, "hello", "next")
        assert [(await bot.channel.pop()).text for _ in range(3)] == ["hello", MARKED, "next"]
        assert [row.maybe_duplicate for row in reversed(rows(bot))] == [True, False]
        assert len({one.key for one in bot.channel.sent}) == 2


async def test_of_a_message_in_parts_only_the_one_in_doubt_is_repeated_after_a_line() -> None:
    async with gateway(channel=FakeChannel(limit=100)) as bot:
        message = "a" * 100 + "b" * 100 + "c" * 100
        bot.channel.failures["1"] = deque([None])
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        await owe(bot, message)
        arrived = [(await bot.channel.pop()).text for _ in range(5)]
        assert arrived == ["a" * 100, "b" * 100, REPEAT_LINE, "b" * 100, "c" * 100]


async def test_a_message_that_leaves_no_room_for_the_line_gets_it_ahead() -> None:
    async with gateway(channel=FakeChannel(limit=100)) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"))
        await owe(bot, "x" * 100)
        assert [(await bot.channel.pop()).text for _ in range(2)] == [REPEAT_LINE, "x" * 100]


async def test_a_repeat_that_is_not_sent_still_says_that_it_is_one_later() -> None:
    async with gateway() as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), NotSent("429", retry_after=5), NotSent("503"))
        await owe(bot, "hello")
        assert (await bot.channel.pop()).text == MARKED


async def test_a_platform_that_never_answers_shows_a_message_a_dozen_times_a_day_at_most() -> None:
    async with gateway() as bot:
        bot.channel.fail(*[OutcomeUnknown("no answer")] * 100, applied=True)
        await owe(bot, "hello")
        await bot.settle()
        assert 5 < len(bot.channel.sent) <= 13


async def test_unknown_outcomes_wait_longer_and_longer() -> None:
    async with gateway() as bot:
        bot.channel.fail(*[OutcomeUnknown("no answer")] * 4)
        await owe(bot, "hello")
        assert (await bot.channel.pop()).text == MARKED
        waits = clock_of(bot).sleeps
        assert len(waits) == 4
        assert waits == sorted(waits)


async def test_what_an_adapter_must_not_raise_leaves_the_outcome_unknown() -> None:
    async with gateway() as bot:
        bot.channel.fail(KeyError("a bug of the adapter"), applied=True)
        await owe(bot, "hello")
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["hello", MARKED]


# Where the platform can tell


def telling() -> FakeChannel:
    return FakeChannel(capabilities=Capabilities(reconciles=True))


async def test_a_platform_that_knows_the_message_is_not_sent_it_again() -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        await owe(bot, "hello", "next")
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["hello", "next"]
        await bot.settle()
        assert texts(bot) == ["hello", "next"]
        first = rows(bot)[-1]
        assert (first.state, first.maybe_duplicate) == ("sent", False)
        assert first.parts[0].receipt == bot.channel.sent[0].id


async def test_a_platform_that_does_not_know_it_is_sent_it_without_a_line() -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"))
        await owe(bot, "hello")
        assert (await bot.channel.pop()).text == "hello"
        assert not rows(bot)[0].maybe_duplicate


async def test_parts_after_a_reconciled_one_are_sent() -> None:
    channel = FakeChannel(limit=2, capabilities=Capabilities(reconciles=True))
    async with gateway(channel=channel) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        await owe(bot, "abcdef")
        assert [(await bot.channel.pop()).text for _ in range(3)] == ["ab", "cd", "ef"]
        await bot.settle()
        assert texts(bot) == ["ab", "cd", "ef"]


class Forgetful(FakeChannel):
    """Its `find` fails the first time."""

    def __init__(self) -> None:
        super().__init__(capabilities=Capabilities(reconciles=True))
        self.asked = 0

    async def find(self, address: Address, part: OutboundPart) -> str | None:
        self.asked += 1
        if self.asked == 1:
            raise NotSent("503")
        return await super().find(address, part)


async def test_a_platform_that_cannot_be_asked_now_is_asked_later() -> None:
    channel = Forgetful()
    async with gateway(channel=channel) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        await owe(bot, "hello", "next")
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["hello", "next"]
        assert channel.asked == 2


# Refused


async def test_a_message_refused_as_formatted_goes_out_as_plain_text() -> None:
    async with gateway() as bot:
        bot.channel.fail(Refused("can't parse entities"))
        await owe(bot, "hello")
        arrived = await bot.channel.pop()
        assert (arrived.text, arrived.plain) == ("hello", True)


async def test_a_message_refused_even_so_dies_and_the_next_proceeds() -> None:
    async with gateway() as bot:
        bot.channel.fail(Refused("bad"), Refused("bad"))
        await owe(bot, "hello", "next")
        assert (await bot.channel.pop()).text == "next"
        await bot.settle()
        assert states(bot) == ["dead", "sent"]
        (note,) = bodies(bot, NoteEntry)
        assert note.text == "This was not delivered (bad): hello"


async def test_a_chat_that_is_gone_takes_its_messages_with_it_and_nobody_elses() -> None:
    async with gateway() as bot:
        bot.channel.fail(ChatGone("blocked by the user"))
        await owe(bot, "a", "b")
        await owe(bot, "c", chat="2")
        assert (await bot.channel.pop()).text == "c"
        await bot.settle()
        assert states(bot) == ["dead", "dead", "sent"]
        assert len(bodies(bot, NoteEntry)) == 2
        await owe(bot, "again")
        assert (await bot.channel.pop()).text == "again"


async def test_a_chat_that_was_gone_is_answered_once_it_speaks_again() -> None:
    async with gateway() as bot:
        bot.channel.fail(ChatGone("blocked by the user"))
        await bot.channel.push("hello")
        await bot.settle()
        assert states(bot) == ["dead"]
        await bot.channel.push("I unblocked you")
        assert (await bot.channel.pop()).text == "echo: I unblocked you"
        assert "not delivered" in str(bot.provider.requests[-1].messages)


# Nobody there


def waiting_room() -> FakeChannel:
    return FakeChannel(capabilities=Capabilities(waits=True))


async def test_messages_wait_for_somebody_to_attach_however_long() -> None:
    async with gateway(channel=waiting_room()) as bot:
        bot.channel.fail(NobodyThere("nobody"), NobodyThere("nobody"))
        await owe(bot, "hello", "next")
        await bot.settle()
        assert len(bot.channel.attempts) == 1
        assert clock_of(bot).sleeps == []
        clock_of(bot).advance(10 * MAX_AGE_SECONDS)
        bot.bus.owed(Address("fake", "1"))
        await bot.settle()
        assert len(bot.channel.attempts) == 2
        bot.bus.owed(Address("fake", "1"))
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["hello", "next"]


async def test_who_left_before_showing_it_gets_it_again_with_the_line() -> None:
    async with gateway(channel=waiting_room()) as bot:
        bot.channel.fail(OutcomeUnknown("went away"), NobodyThere("nobody"))
        await owe(bot, "hello")
        await bot.settle()
        bot.bus.owed(Address("fake", "1"))
        assert (await bot.channel.pop()).text == MARKED


# Rendering


class BrokenRendering(FakeChannel):
    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        raise IndexError


class NoRendering(FakeChannel):
    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        return []


@pytest.mark.parametrize("channel", [BrokenRendering, NoRendering])
async def test_a_rendering_that_fails_does_not_eat_the_message(
    channel: Callable[[], FakeChannel],
) -> None:
    async with gateway(channel=channel()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"))
        await owe(bot, "hello", "next")
        assert [(await bot.channel.pop()).text for _ in range(2)] == [MARKED, "next"]


# After a crash


async def test_a_part_that_a_crash_cut_off_is_repeated_with_a_line() -> None:
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            bot.process.before = lambda verb: bot.crash() if verb == "receipt" else None
            await owe(bot, "hello", "next")
            assert (await bot.channel.pop()).text == "hello"
            await bot.settle()
        async with gateway(home=home) as bot:
            assert [(await bot.channel.pop()).text for _ in range(2)] == [MARKED, "next"]


async def test_a_part_that_a_crash_cut_off_is_looked_up_where_the_platform_can_tell() -> None:
    async with MemoryHome() as home:
        channel = telling()
        async with gateway(channel=channel, home=home) as bot:
            bot.process.before = lambda verb: bot.crash() if verb == "receipt" else None
            await owe(bot, "hello")
            await bot.channel.pop()
            await bot.settle()
        async with gateway(channel=channel, home=home) as bot:
            await bot.channel.until(lambda: channel.runs == 2)
            await bot.settle()
            assert texts(bot) == ["hello"]
            assert states(bot) == ["sent"]


async def test_what_was_not_begun_before_a_crash_goes_out_plainly() -> None:
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            bot.process.before = lambda verb: bot.crash() if verb == "begin_send" else None
            await owe(bot, "hello")
            await bot.settle()
            assert bot.channel.sent == []
        async with gateway(home=home) as bot:
            assert (await bot.channel.pop()).text == "hello"


# The store, and the end


async def test_a_store_that_cannot_be_read_at_the_start_is_waited_for() -> None:
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            bot.channel.fail(NobodyThere("nobody"))
            await owe(bot, "hello")
            await bot.settle()
        failing = FakeChannel()
        async with gateway(channel=failing, home=home) as bot:
            left = 3

            def before(verb: str) -> None:
                nonlocal left
                if left:
                    left -= 1
                    raise StoreUnwritable("the disk is full")

            bot.process.before = before
            assert (await bot.channel.pop()).text == "hello"


async def test_flushing_waits_for_what_is_being_sent() -> None:
    async with standing() as home, gateway(home=home) as bot:
        await bot.host.flush(5)
        bot.channel.fail(NotSent("503"))
        await owe(bot, "hello")
        await clock_of(bot).asleep()
        await bot.host.flush(0.01)
        assert texts(bot) == []
        async with asyncio.TaskGroup() as tasks:
            flushing = tasks.create_task(bot.host.flush(10))
            await bot.settle()
            assert not flushing.done()
            clock_of(bot).advance(10)
        assert texts(bot) == ["hello"]
