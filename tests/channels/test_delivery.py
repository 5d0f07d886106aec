"""What is owed arrives: in order, once, or saying that it may be a repeat."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable

import pytest

from nanobot.channels.chat_delivery import MAX_AGE_SECONDS
from nanobot.channels.host import Hosting
from nanobot.channels.look_ups import LOOKUP_SECONDS, LOOKUPS
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import (
    ChatGone,
    ChatMoved,
    NobodyThere,
    NotSent,
    OutcomeUnknown,
    Refused,
    StoreUnwritable,
    ThreadGone,
    Uncertain,
)
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.store import outbox
from nanobot.plugins.postgres.processes.attended_chats import SHOWING_SECONDS
from nanobot.plugins.postgres.processes.sharing import Leased
from nanobot.ports import Capabilities, OutboundPart
from nanobot.session.entries import UndeliveredEntry
from nanobot.session.outbox import OutboundRow
from nanobot.store.journal import chats
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options, Process
from nanobot.testing.machine import ManualClock
from nanobot.testing.platform import FakeChannel
from nanobot.troubles import TROUBLES
from tests.agent.tooling import bodies
from tests.channels.seeing import clock_of, standing, states

MARKED = f"hello\n\n{REPEAT_LINE}"


async def owe(
    bot: FakeGateway, *texts: str, chat: str = "1", channel: str = "fake", thread: str | None = None
) -> None:
    address = Address(channel, chat, thread)
    for text in texts:
        key = f"{chat}:{text[:20]}"
        message = OutboundMessage(address=address, text=text, key=key, kind=OutboundKind.POST)
        await bot.journal.post(f"{channel}:{chat}", message)
    bot.bus.owed(address)


def texts(bot: FakeGateway, chat: str = "1") -> list[str]:
    return [message.text for message in bot.channel.sent if message.address.chat_id == chat]


def rows(bot: FakeGateway) -> list[OutboundRow]:
    """Every message ever owed, the newest first."""
    return bot.home.do(lambda connection: outbox.listing(connection, None, 100))


# In order


async def test_a_chats_messages_are_sent_in_order(bot: FakeGateway) -> None:
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
        assert len({message.key for message in bot.channel.sent}) == 4


async def test_the_next_message_waits_until_the_first_is_through(bot: FakeGateway) -> None:
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


async def test_what_the_platform_says_about_waiting_is_obeyed(bot: FakeGateway) -> None:
    bot.channel.fail(NotSent("429", retry_after=17), NotSent("429", retry_after=0.5))
    await owe(bot, "hello")
    await bot.channel.pop()
    assert clock_of(bot).sleeps == [pytest.approx(17), pytest.approx(0.5)]


async def test_the_wait_grows_and_is_capped(bot: FakeGateway) -> None:
    bot.channel.fail(*[NotSent("503")] * 60)
    await owe(bot, "hello")
    await bot.channel.pop()
    waits = clock_of(bot).sleeps
    assert waits[0] < 1
    assert all(later >= earlier for earlier, later in itertools.pairwise(waits[:50]))
    assert waits[50:] == [15] * 10
    assert len(waits) == 60
    assert not rows(bot)[0].maybe_duplicate


@pytest.mark.process
async def test_a_message_dies_of_age_and_not_of_attempts(bot: FakeGateway) -> None:
    bot.channel.fail(*[NotSent("429", retry_after=60)] * 2_000)
    began = clock_of(bot).now()
    await owe(bot, "hello")
    while states(bot) != ["dead"]:
        await bot.settle()
    assert MAX_AGE_SECONDS <= clock_of(bot).now() - began <= MAX_AGE_SECONDS + 120
    assert len(bot.channel.attempts) == pytest.approx(24 * 60, abs=2)
    assert bodies(bot, UndeliveredEntry)
    bot.channel.failures.clear()
    await owe(bot, "next")
    assert (await bot.channel.pop()).text == "next"


# Unknown


async def test_an_unknown_outcome_is_sent_again_with_a_line_that_says_so(bot: FakeGateway) -> None:
    bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
    await owe(bot, "hello", "next")
    assert [(await bot.channel.pop()).text for _ in range(3)] == ["hello", MARKED, "next"]
    assert [row.maybe_duplicate for row in reversed(rows(bot))] == [True, False]
    assert len({message.key for message in bot.channel.sent}) == 2


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


async def test_a_repeat_that_is_not_sent_still_says_that_it_is_one_later(bot: FakeGateway) -> None:
    bot.channel.fail(OutcomeUnknown("no answer"), NotSent("429", retry_after=5), NotSent("503"))
    await owe(bot, "hello")
    assert (await bot.channel.pop()).text == MARKED


async def test_a_platform_that_never_answers_shows_a_message_a_dozen_times_a_day_at_most() -> None:
    async with gateway() as bot:
        bot.channel.fail(*[OutcomeUnknown("no answer")] * 100, applied=True)
        await owe(bot, "hello")
        await bot.settle()
        assert 5 < len(bot.channel.sent) <= 13


async def test_unknown_outcomes_wait_longer_and_longer(bot: FakeGateway) -> None:
    bot.channel.fail(*[OutcomeUnknown("no answer")] * 4)
    await owe(bot, "hello")
    assert (await bot.channel.pop()).text == MARKED
    waits = clock_of(bot).sleeps
    assert len(waits) == 4
    assert waits == sorted(waits)


async def test_what_an_adapter_must_not_raise_leaves_the_outcome_unknown(bot: FakeGateway) -> None:
    bot.channel.fail(KeyError("a bug of the adapter"), applied=True)
    await owe(bot, "hello")
    assert [(await bot.channel.pop()).text for _ in range(2)] == ["hello", MARKED]


# Where the platform can tell


def perhaps(*message_ids: str) -> Uncertain:
    error = Uncertain("they read the same")
    error.perhaps = message_ids
    return error


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


async def test_a_platform_that_cannot_be_asked_now_is_asked_later() -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        bot.channel.lookups.append(NotSent("503"))
        await owe(bot, "hello", "next")
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["hello", "next"]
        assert len(bot.channel.lookups_made) == 2


async def test_a_look_up_waits_as_long_as_the_platform_asks_for() -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        bot.channel.lookups.append(NotSent("429", retry_after=17))
        await owe(bot, "hello", "next")
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["hello", "next"]
        assert clock_of(bot).sleeps[1:] == [17]


@pytest.mark.parametrize(
    "error", [NotSent("503"), OutcomeUnknown("cut"), KeyError("a bug of the adapter")]
)
async def test_a_look_up_that_never_succeeds_ends_in_a_marked_repeat(
    error: Exception,
) -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        bot.channel.lookups.extend([error] * 1_000)
        await owe(bot, "hello", "next")
        assert [(await bot.channel.pop()).text for _ in range(3)] == ["hello", MARKED, "next"]
        assert LOOKUPS <= len(bot.channel.lookups_made) < 50
        waits = clock_of(bot).sleeps[1:]
        assert LOOKUP_SECONDS <= sum(waits) < 2 * LOOKUP_SECONDS
        await bot.settle()
        assert [row.maybe_duplicate for row in reversed(rows(bot))] == [True, False]


@pytest.mark.parametrize("error", [Refused("no right to read"), Uncertain("the page is full")])
async def test_what_nobody_can_tell_is_repeated_at_once_with_a_line(error: Exception) -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        bot.channel.lookups.append(error)
        await owe(bot, "hello", "next")
        assert [(await bot.channel.pop()).text for _ in range(3)] == ["hello", MARKED, "next"]
        await bot.settle()
        assert [row.maybe_duplicate for row in reversed(rows(bot))] == [True, False]


async def test_of_what_cannot_be_told_apart_what_other_messages_became_is_none_of_it() -> None:
    """Two answers that read the same, within a minute: the ids of the earlier one are known."""
    async with gateway(channel=telling()) as bot:
        await owe(bot, "OK", "OK then")
        await bot.settle()
        earlier = [message.id for message in bot.channel.sent]
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        bot.channel.lookups.append(perhaps(*earlier, f"m{int(earlier[-1][1:]) + 1}"))
        await owe(bot, "OK again", "next")
        await bot.channel.until(lambda: "next" in texts(bot))
        assert texts(bot) == ["OK", "OK then", "OK again", "next"]
        assert rows(bot)[1].parts[0].receipt == bot.channel.sent[2].id

        bot.channel.fail(OutcomeUnknown("no answer"))
        bot.channel.lookups.append(perhaps(*earlier))
        await owe(bot, "OK now")
        await bot.channel.until(lambda: "OK now" in texts(bot))
        await bot.settle()
        assert not any(row.maybe_duplicate for row in rows(bot))


async def test_two_strange_messages_that_cannot_be_told_from_it_leave_it_in_doubt() -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), applied=True)
        bot.channel.lookups.append(perhaps("x1", "x2"))
        await owe(bot, "hello")
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["hello", MARKED]


async def test_what_was_once_repeated_is_never_sent_again_without_the_line() -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"), OutcomeUnknown("no answer"))
        bot.channel.lookups.append(Uncertain("the page is full"))
        await owe(bot, "hello")
        assert (await bot.channel.pop()).text == MARKED


@pytest.mark.parametrize(
    ("error", "left"), [(ChatGone("thrown out"), []), (ThreadGone("closed"), ["next"])]
)
async def test_a_look_up_hears_that_the_chat_or_the_thread_is_gone(
    error: Exception, left: list[str]
) -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(OutcomeUnknown("no answer"))
        bot.channel.lookups.append(error)
        await owe(bot, "hello", thread="A")
        await owe(bot, "next")
        await bot.settle()
        assert texts(bot) == left
        assert len(bot.channel.lookups_made) == 1


async def test_a_look_up_is_told_since_when_the_part_is_in_doubt() -> None:
    async with MemoryHome() as home:
        channel = telling()
        async with gateway(channel=channel, home=home) as bot:
            clock_of(bot).advance(100)
            began = clock_of(bot).now()
            bot.process.before = lambda verb: bot.crash() if verb == "receipt" else None
            await owe(bot, "hello")
            await bot.channel.pop()
            await bot.settle()
        assert isinstance(home.clock, ManualClock)
        home.clock.advance(3_600)
        channel.lookups.append(NotSent("503"))
        async with gateway(channel=channel, home=home) as bot:
            await bot.channel.until(lambda: len(channel.lookups_made) == 2)
            await bot.settle()
            assert channel.lookups_made == [("1:hello:0", began)] * 2
            assert texts(bot) == ["hello"]


async def test_a_part_that_was_not_applied_is_in_doubt_since_its_next_send_only() -> None:
    async with gateway(channel=telling()) as bot:
        bot.channel.fail(NotSent("503", retry_after=50), OutcomeUnknown("no answer"))
        await owe(bot, "hello")
        began = clock_of(bot).now()
        await bot.channel.pop()
        assert [since for _key, since in bot.channel.lookups_made] == [began + 50]


# When the clock is set


async def test_what_waits_is_not_given_up_because_the_clock_is_set_forward() -> None:
    async with standing() as home, gateway(home=home) as bot:
        bot.channel.fail(NotSent("503", retry_after=20), NotSent("503", retry_after=20))
        await owe(bot, "hello")
        await clock_of(bot).asleep()
        clock_of(bot).set_by(30 * 24 * 3_600)
        for _ in range(2):
            clock_of(bot).advance(20)
            await bot.settle()
        assert texts(bot) == ["hello"]


async def test_what_became_owed_just_before_the_clock_was_set_is_sent() -> None:
    async with standing() as home, gateway(home=home) as bot:
        bot.channel.fail(NotSent("503", retry_after=20))
        await owe(bot, "first")
        await clock_of(bot).asleep()
        await owe(bot, "second")
        clock_of(bot).set_by(2 * MAX_AGE_SECONDS)
        clock_of(bot).advance(20)
        assert [(await bot.channel.pop()).text for _ in range(2)] == ["first", "second"]


async def test_an_old_message_is_tried_once_more_before_it_is_given_up() -> None:
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            bot.process.before = lambda verb: bot.crash() if verb == "begin_send" else None
            await owe(bot, "sent", "given up")
            await bot.settle()
        assert isinstance(home.clock, ManualClock)
        home.clock.advance(2 * MAX_AGE_SECONDS)
        channel = FakeChannel()
        channel.failures["1"] = deque([None])
        channel.fail(NotSent("503"))
        async with gateway(channel=channel, home=home) as bot:
            assert (await bot.channel.pop()).text == "sent"
            await bot.settle()
            assert states(bot) == ["sent", "dead"]


async def test_a_wait_is_as_long_as_it_was_although_the_clock_is_set_back() -> None:
    async with standing() as home, gateway(home=home) as bot:
        bot.channel.fail(NotSent("429", retry_after=20))
        await owe(bot, "hello")
        await clock_of(bot).asleep()
        clock_of(bot).set_by(-3_600)
        clock_of(bot).advance(20)
        await bot.settle()
        assert texts(bot) == ["hello"]


async def test_after_a_restart_a_clock_that_was_set_back_costs_a_minute_at_most() -> None:
    async with standing() as home:
        async with gateway(home=home) as bot:
            bot.channel.fail(NotSent("429", retry_after=20))
            await owe(bot, "hello")
            await clock_of(bot).asleep()
        assert isinstance(home.clock, ManualClock)
        home.clock.set_by(-3_600)
        async with gateway(home=home) as bot:
            await clock_of(bot).asleep()
            clock_of(bot).advance(60)
            assert (await bot.channel.pop()).text == "hello"


@pytest.mark.parametrize("absurd", [-5.0, 1e300, float("nan"), float("inf")])
async def test_an_absurd_wait_is_not_obeyed(absurd: float, bot: FakeGateway) -> None:
    bot.channel.fail(NotSent("429", retry_after=absurd))
    await owe(bot, "hello")
    assert (await bot.channel.pop()).text == "hello"
    assert 0 < sum(clock_of(bot).sleeps) < 60


# Refused


async def test_a_message_refused_as_formatted_goes_out_as_plain_text(bot: FakeGateway) -> None:
    bot.channel.fail(Refused("can't parse entities"))
    await owe(bot, "hello")
    arrived = await bot.channel.pop()
    assert (arrived.text, arrived.plain) == ("hello", True)


async def test_a_message_refused_even_so_dies_and_the_next_proceeds(bot: FakeGateway) -> None:
    bot.channel.fail(Refused("bad"), Refused("bad"))
    await owe(bot, "hello", "next")
    assert (await bot.channel.pop()).text == "next"
    await bot.settle()
    assert states(bot) == ["dead", "sent"]
    (note,) = bodies(bot, UndeliveredEntry)
    assert note.text == "This was not delivered (bad): hello"


async def test_a_chat_that_is_gone_takes_its_messages_with_it_and_nobody_elses() -> None:
    async with gateway() as bot:
        bot.channel.fail(ChatGone("blocked by the user"))
        await owe(bot, "a", "b")
        await owe(bot, "c", chat="2")
        assert (await bot.channel.pop()).text == "c"
        await bot.settle()
        assert states(bot) == ["dead", "dead", "sent"]
        assert len(bodies(bot, UndeliveredEntry)) == 2
        await owe(bot, "again")
        assert (await bot.channel.pop()).text == "again"


async def test_a_chat_that_was_gone_is_answered_once_it_speaks_again(bot: FakeGateway) -> None:
    bot.channel.fail(ChatGone("blocked by the user"))
    await bot.channel.push("hello")
    await bot.settle()
    assert states(bot) == ["dead"]
    await bot.channel.push("I unblocked you")
    assert (await bot.channel.pop()).text == "echo: I unblocked you"
    assert "not delivered" in str(bot.provider.requests[-1].messages)


async def test_a_thread_that_is_gone_takes_only_its_own_messages_with_it(bot: FakeGateway) -> None:
    bot.channel.fail(NotSent("503"), ThreadGone("the topic is closed"))
    await owe(bot, "first", thread="A")
    await owe(bot, "other topic", thread="B")
    await owe(bot, "second", thread="A")
    await owe(bot, "no topic")
    assert [(await bot.channel.pop()).text for _ in range(2)] == ["other topic", "no topic"]
    await bot.settle()
    assert states(bot) == ["dead", "sent", "dead", "sent"]
    assert [message.address.thread_id for message in bot.channel.sent] == ["B", None]


async def test_a_chat_that_is_gone_is_unreachable_until_it_speaks() -> None:
    def reason(bot: FakeGateway) -> str | None:
        return bot.home.do(lambda connection: chats.unreachable(connection, Address("fake", "1")))

    async with gateway() as bot:
        bot.channel.fail(ThreadGone("closed"), ChatGone("thrown out"), ChatGone("blocked"))
        await owe(bot, "a")
        await bot.settle()
        assert reason(bot) is None
        for text, why in (("b", "thrown out"), ("c", "blocked")):
            await owe(bot, text)
            await bot.settle()
            assert reason(bot) == why
        await bot.channel.push("I am back")
        assert (await bot.channel.pop()).text == "echo: I am back"
        assert reason(bot) is None


# A chat that moved


async def test_a_chat_that_moved_is_sent_what_it_is_owed_where_it_is_now() -> None:
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            bot.channel.fail(ChatMoved("a supergroup now", "-100"))
            await owe(bot, "a", "b")
            assert [await where(bot) for _ in range(2)] == [("a", "-100"), ("b", "-100")]
            await bot.settle()
            assert states(bot) == ["sent", "sent"]
        async with gateway(home=home) as bot:
            await owe(bot, "c")
            assert await where(bot) == ("c", "-100")
            bot.channel.fail(ChatMoved("and on", "-200"), chat="-100")
            await owe(bot, "d")
            assert await where(bot) == ("d", "-200")


async def where(bot: FakeGateway) -> tuple[str, str]:
    arrived = await bot.channel.pop()
    return arrived.text, arrived.address.chat_id


async def test_a_chat_that_moves_in_a_circle_is_gone(bot: FakeGateway) -> None:
    bot.channel.fail(ChatMoved("to -100", "-100"))
    bot.channel.fail(ChatMoved("to 1", "1"), chat="-100")
    await owe(bot, "a", "b")
    await bot.settle()
    assert states(bot) == ["dead", "dead"]


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


# Chats that several processes serve


async def test_what_another_process_shows_just_now_is_not_in_doubt() -> None:
    hosting = Hosting(attended=lambda _chat: True)
    async with (
        MemoryHome(ManualClock(instant=False)) as home,
        gateway(
            channel=waiting_room(), home=home, options=Options(hosting=hosting, sharing=Leased)
        ) as bot,
    ):
        journal = Process(home).journal
        message = OutboundMessage(address=Address("fake", "1"), text="hello", key="k")
        await journal.post("fake:1", message)
        row = await journal.next_outbound(message.address)
        assert row is not None
        await journal.begin_send(row, [OutboundPart(text="hello")], 0, duplicate=False)
        bot.bus.owed(message.address)
        await bot.settle()
        assert SHOWING_SECONDS in clock_of(bot).sleeps
        await journal.receipt(row, 0, "there", begin=None)
        clock_of(bot).advance(SHOWING_SECONDS)
        await bot.settle()
        assert bot.channel.attempts == []
        assert states(bot) == ["sent"]


async def test_what_a_process_that_was_killed_showed_is_shown_again_with_the_line() -> None:
    hosting = Hosting(attended=lambda _chat: True)
    async with MemoryHome() as home:
        async with gateway(channel=waiting_room(), home=home) as bot:
            bot.process.before = lambda verb: bot.crash() if verb == "receipt" else None
            await owe(bot, "hello")
            assert (await bot.channel.pop()).text == "hello"
            await bot.settle()
        options = Options(hosting=hosting, sharing=Leased)
        async with gateway(channel=waiting_room(), home=home, options=options) as bot:
            clock_of(bot).advance(SHOWING_SECONDS)
            assert (await bot.channel.pop()).text == MARKED


async def test_a_chat_that_nobody_attends_here_is_left_to_other_processes() -> None:
    attending = set[str]()
    hosting = Hosting(attended=attending.__contains__)
    clock, options = ManualClock(instant=False), Options(hosting=hosting, sharing=Leased)
    async with (
        MemoryHome(clock) as home,
        gateway(channel=waiting_room(), home=home, options=options) as bot,
    ):
        await owe(bot, "hello")
        await bot.settle()
        assert "begin_send" not in bot.process.verbs
        assert bot.channel.attempts == []
        attending.add("1")
        bot.bus.owed(Address("fake", "1"))
        assert (await bot.channel.pop()).text == "hello"


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


@pytest.mark.parametrize("waits", [False, True])
async def test_owners_hear_at_once_of_messages_that_a_platform_does_not_take_yet(
    *, waits: bool
) -> None:
    """A channel that waits for clients by design reports none."""
    channel = FakeChannel(capabilities=Capabilities(waits=waits))
    async with gateway(channel=channel) as bot:
        bot.channel.fail(NobodyThere("the 24 hours are over"))
        await owe(bot, "hello", chat="1")
        await bot.settle()
        told = [str(each) for each in TROUBLES.recent(2) if each.what == "messages to fake:1"]
        assert told == ([] if waits else ["messages to fake:1 failed once: the 24 hours are over"])
        bot.bus.deliver(Address("fake", "1"))
        await bot.settle()
        assert texts(bot) == ["hello"]
        assert not [each for each in TROUBLES.recent() if each.what == "messages to fake:1"]
