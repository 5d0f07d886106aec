"""As fast as the platform lets us; slower for a minute where it has complained."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.channels.rate_limit import MEMORY_SECONDS, RateLimiter
from nanobot.errors import NotSent
from nanobot.ports import Rate
from nanobot.testing.machine import ManualClock

SECOND, TENTH = Rate(1, 1.0), Rate(10, 1.0)


async def sent(pacing: RateLimiter, clock: ManualClock, chat: str, count: int) -> list[float]:
    """When so many messages went out, in seconds from now."""
    began = clock.monotonic()
    times = []
    for _ in range(count):
        await pacing.turn(chat)
        times.append(round(clock.monotonic() - began, 3))
    return times


def flood(seconds: float = 5.0) -> NotSent:
    return NotSent("429", retry_after=seconds)


async def test_who_is_not_complained_about_is_not_slowed_down() -> None:
    clock = ManualClock()
    pacing = RateLimiter(clock, SECOND, TENTH)
    assert await sent(pacing, clock, "1", 100) == [0] * 100
    assert clock.sleeps == []
    assert pacing.calm("1")


async def test_a_chat_waits_as_told_and_keeps_to_its_rate_then() -> None:
    clock = ManualClock()
    pacing = RateLimiter(clock, SECOND, TENTH)
    pacing.complained("1", flood())
    assert await sent(pacing, clock, "1", 4) == [5, 6, 7, 8]
    assert await sent(pacing, clock, "2", 20) == [0] * 20


async def test_after_a_minute_it_is_as_before() -> None:
    clock = ManualClock()
    pacing = RateLimiter(clock, SECOND, None)
    pacing.complained("1", flood())
    clock.advance(5 + MEMORY_SECONDS - 0.1)
    assert not pacing.calm("1")
    clock.advance(0.1)
    assert pacing.calm("1")
    assert await sent(pacing, clock, "1", 10) == [0] * 10


async def test_complaints_of_several_chats_slow_the_whole_bot() -> None:
    clock = ManualClock()
    pacing = RateLimiter(clock, SECOND, TENTH)
    pacing.complained("1", flood())
    assert pacing.calm("3")
    pacing.complained("2", flood())
    assert not pacing.calm("3")
    assert await sent(pacing, clock, "3", 4) == [0, 0.1, 0.2, 0.3]


async def test_two_complaints_of_one_chat_are_its_own() -> None:
    pacing = RateLimiter(ManualClock(), SECOND, TENTH)
    pacing.complained("1", flood())
    pacing.complained("1", flood())
    assert pacing.calm("2")


async def test_complaints_a_minute_apart_are_not_the_bots() -> None:
    clock = ManualClock()
    pacing = RateLimiter(clock, SECOND, TENTH)
    pacing.complained("1", flood())
    clock.advance(5 + MEMORY_SECONDS)
    pacing.complained("2", flood())
    assert pacing.calm("3")


async def test_a_complaint_about_the_bot_makes_every_chat_wait() -> None:
    clock = ManualClock()
    pacing = RateLimiter(clock, SECOND, TENTH)
    pacing.complained("1", NotSent("429", retry_after=3, scope="bot"))
    assert await sent(pacing, clock, "2", 3) == [3, 3.1, 3.2]


async def test_chats_that_wait_together_go_one_after_another() -> None:
    clock = ManualClock(instant=False)
    pacing = RateLimiter(clock, SECOND, SECOND)
    pacing.complained("1", NotSent("429", retry_after=2, scope="bot"))
    gone: list[str] = []

    async def go(chat: str) -> None:
        await pacing.turn(chat)
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
    pacing = RateLimiter(clock, None, rate)
    pacing.complained("1", flood(2))
    assert await sent(pacing, clock, "1", 5) == [2] * 5


async def test_a_failure_without_a_wait_is_no_complaint() -> None:
    pacing = RateLimiter(ManualClock(), SECOND, TENTH)
    pacing.complained("1", NotSent("503"))
    assert pacing.calm("1")
