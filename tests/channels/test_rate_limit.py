"""As fast as the platform lets us; slower for a minute where it has complained."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.channels.rate_limit import MEMORY_SECONDS, RateLimiter, RatePeers
from nanobot.errors import NotSent
from nanobot.ports import Capabilities, Rate
from nanobot.testing.machine import ManualClock

SECOND, TENTH = Rate(1, 1.0), Rate(10, 1.0)


def limiter(
    clock: ManualClock, *, chat: Rate | None = SECOND, bot: Rate | None = TENTH
) -> RateLimiter:
    return RateLimiter(clock, Capabilities(chat_rate=chat, bot_rate=bot))


async def sent(rates: RateLimiter, clock: ManualClock, chat: str, count: int) -> list[float]:
    """When so many messages went out, in seconds from now."""
    began = clock.monotonic()
    times = []
    for _ in range(count):
        await rates.turn(chat)
        times.append(round(clock.monotonic() - began, 3))
    return times


def flood(seconds: float = 5.0) -> NotSent:
    return NotSent("429", retry_after=seconds)


async def test_who_is_not_complained_about_is_not_slowed_down(clock: ManualClock) -> None:
    rates = limiter(clock)
    assert await sent(rates, clock, "1", 100) == [0] * 100
    assert clock.sleeps == []
    assert rates.free("1")


async def test_a_chat_waits_as_told_and_keeps_to_its_rate_then(clock: ManualClock) -> None:
    rates = limiter(clock)
    rates.complained("1", flood())
    assert await sent(rates, clock, "1", 4) == [5, 6, 7, 8]
    assert await sent(rates, clock, "2", 20) == [0] * 20


async def test_after_a_minute_it_is_as_before(clock: ManualClock) -> None:
    rates = limiter(clock, bot=None)
    rates.complained("1", flood())
    clock.advance(5 + MEMORY_SECONDS - 0.1)
    assert not rates.free("1")
    clock.advance(0.1)
    assert rates.free("1")
    assert await sent(rates, clock, "1", 10) == [0] * 10


async def test_complaints_of_several_chats_slow_the_whole_bot(clock: ManualClock) -> None:
    rates = limiter(clock)
    rates.complained("1", flood())
    assert rates.free("3")
    rates.complained("2", flood())
    assert await sent(rates, clock, "3", 4) == [0, 0.1, 0.2, 0.3]


async def test_complaints_of_two_chats_leave_previews_and_typing_to_all_others() -> None:
    clock = ManualClock()
    rates = limiter(clock)
    rates.complained("1", flood())
    rates.complained("2", flood())
    assert [rates.free(chat) for chat in "123"] == [False, False, True]
    await rates.turn("3")
    assert not rates.free("4")  # what is left belongs to answers
    clock.advance(0.1)
    assert rates.free("4")


async def test_a_complaint_about_the_bot_holds_previews_of_all_chats_for_a_minute() -> None:
    clock = ManualClock()
    rates = limiter(clock)
    rates.complained("1", NotSent("429", retry_after=3, scope="bot"))
    clock.advance(3 + MEMORY_SECONDS - 0.1)
    assert not rates.free("2")
    clock.advance(0.1)
    assert rates.free("2")


async def test_while_an_answer_waits_no_preview_is_sent() -> None:
    clock = ManualClock(instant=False)
    rates = limiter(clock, bot=SECOND)
    rates.complained("1", flood(0))
    rates.complained("2", flood(0))
    await rates.turn("3")
    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(rates.turn("4"))
        await clock.asleep()
        clock.advance(0.999)
        assert not rates.free("5")
        clock.advance(0.001)
        assert not rates.free("5")
        await answer
    assert not rates.free("5")
    clock.advance(1)
    assert rates.free("5")


async def test_two_complaints_of_one_chat_are_its_own() -> None:
    rates = limiter(ManualClock())
    rates.complained("1", flood())
    rates.complained("1", flood())
    assert rates.free("2")


async def test_complaints_a_minute_apart_are_not_the_bots(clock: ManualClock) -> None:
    rates = limiter(clock)
    rates.complained("1", flood())
    clock.advance(5 + MEMORY_SECONDS)
    rates.complained("2", flood())
    assert rates.free("3")


async def test_a_complaint_about_the_bot_makes_every_chat_wait(clock: ManualClock) -> None:
    rates = limiter(clock)
    rates.complained("1", NotSent("429", retry_after=3, scope="bot"))
    assert await sent(rates, clock, "2", 3) == [3, 3.1, 3.2]


async def test_chats_that_wait_together_go_one_after_another() -> None:
    clock = ManualClock(instant=False)
    rates = limiter(clock, bot=SECOND)
    rates.complained("1", NotSent("429", retry_after=2, scope="bot"))
    gone: list[str] = []

    async def go(chat: str) -> None:
        await rates.turn(chat)
        gone.append(chat)

    async with asyncio.TaskGroup() as tasks:
        for chat in "abc":
            tasks.create_task(go(chat))
        await clock.asleep(3)
        for count in range(1, 4):
            clock.advance(2 if count == 1 else 1)
            for _ in range(10):
                await asyncio.sleep(0)
            assert len(gone) == count
    assert sorted(gone) == ["a", "b", "c"]


@pytest.mark.parametrize("rate", [None, Rate(0, 1.0)])
async def test_without_a_documented_rate_only_the_wait_is_obeyed(rate: Rate | None) -> None:
    clock = ManualClock()
    rates = limiter(clock, chat=None, bot=rate)
    rates.complained("1", flood(2))
    assert await sent(rates, clock, "1", 5) == [2] * 5


async def test_a_failure_without_a_wait_is_no_complaint() -> None:
    rates = limiter(ManualClock())
    rates.complained("1", NotSent("503"))
    assert rates.free("1")


async def test_processes_that_share_a_bot_share_what_it_may_send() -> None:
    """A complaint about the whole bot is told to the others, and each keeps to its share."""
    clock = ManualClock()
    told: list[float] = []
    able = Capabilities(chat_rate=SECOND, bot_rate=TENTH, edit_rate=Rate(8, 60.0))
    rates = RateLimiter(clock, able, RatePeers(lambda: 1, told.append))
    rates.complained("1", NotSent("429", retry_after=5.0, scope="bot"))
    assert told == [5.0]
    other = RateLimiter(clock, able, RatePeers(lambda: 1))
    other.heard(5.0)
    times = []
    for chat in ("2", "3", "4"):
        await other.turn(chat)
        times.append(round(clock.monotonic(), 3))
    assert [round(time - times[0], 3) for time in times] == [0.0, 0.2, 0.4]
    assert times[0] >= 5.0


async def test_complaints_of_two_chats_slow_the_other_processes_down() -> None:
    clock, told = ManualClock(), list[float]()
    able = Capabilities(chat_rate=SECOND, bot_rate=TENTH)
    rates = RateLimiter(clock, able, RatePeers(lambda: 2, told.append))
    rates.complained("1", flood())
    assert told == []
    rates.complained("2", flood())
    assert told == [0.0]
    other = RateLimiter(clock, able, RatePeers(lambda: 2))
    other.heard(0.0)
    assert await sent(other, clock, "3", 3) == [0.0, 0.3, 0.6]
