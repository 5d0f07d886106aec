"""What stands in the chats of a FakeGateway, and what it owes them."""

from __future__ import annotations

from nanobot.plugins.common.store import outbox
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock


def clock_of(bot: FakeGateway) -> ManualClock:
    assert isinstance(bot.home.clock, ManualClock)
    return bot.home.clock


def standing() -> MemoryHome:
    """A home whose time stands still until it is moved on."""
    return MemoryHome(ManualClock(instant=False))


def seen(bot: FakeGateway) -> list[str]:
    """What a person sees in the chats, now."""
    return [message.text for message in bot.channel.sent]


def states(bot: FakeGateway) -> list[str]:
    """Of every message ever owed."""
    rows = bot.home.do(lambda connection: outbox.listing(connection, None, 100))
    return [row.state for row in reversed(rows)]
