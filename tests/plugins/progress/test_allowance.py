"""Edited previews leave room for answers."""

from __future__ import annotations

from nanobot.channels.rate_limit import RateLimiter, RatePeers
from nanobot.plugins.progress.allowance import Allowance
from nanobot.ports import Capabilities, Rate
from nanobot.testing.machine import ManualClock


def allowed(
    clock: ManualClock, able: Capabilities, others: int = 0
) -> tuple[RateLimiter, Allowance]:
    rates = RateLimiter(clock, able, RatePeers(lambda: others))
    return rates, Allowance(rates, able, clock)


async def test_previews_leave_half_of_the_edits_to_answers(clock: ManualClock) -> None:
    able = Capabilities(chat_rate=Rate(1, 1.0), bot_rate=Rate(10, 1.0), edit_rate=Rate(50, 60.0))
    for others, most in ((0, 25), (1, 13)):  # processes that share the bot share its edits
        rates, allowance = allowed(clock, able, others)
        shown = 0
        for _ in range(600):  # twenty runs that look every second, for half a minute
            if allowance.free(str(shown % 20), edit=True):
                await rates.turn(str(shown % 20), edit=True)
                shown += 1
            clock.advance(0.05)
        assert shown == most
        assert allowance.free("1", edit=False)
        for chat in range(20):
            await rates.turn(str(chat), edit=True)
        assert clock.sleeps == []
        clock.advance(60)
        assert allowance.free("1", edit=True)


async def test_previews_leave_the_last_messages_of_a_chats_period_to_answers() -> None:
    clock = ManualClock()
    rates, allowance = allowed(clock, Capabilities(chat_rate=Rate(5, 5.0)))
    for _ in range(2):
        assert allowance.free("1", edit=True)
        await rates.turn("1", edit=True)
    assert not allowance.free("1", edit=True)
    assert allowance.free("2", edit=True)
    for _ in range(3):
        await rates.turn("1")
    assert clock.sleeps == []
    clock.advance(5.0)
    assert allowance.free("1", edit=True)
