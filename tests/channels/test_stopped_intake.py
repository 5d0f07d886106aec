"""A planned stop in the middle of a delivery: what the platform brings again afterwards is
performed and answered once."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from nanobot.messages import Address, InboundMessage, Sender
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Rest
from nanobot.ports import Intake
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from nanobot.testing.memory_home import MemoryHome
from nanobot.testing.platform import OWNER, FakeChannel

PERFORMED = Counter[str]()
TURNS = 120
"""More turns of the loop than the delivery takes."""


@operation(name="act", text=lambda value, _: value)
async def act(_context: OperationContext, _caller: Caller, word: Rest = "") -> str:
    """Have an effect in the middle of several turns of the loop."""
    for turn in range(20):
        await asyncio.sleep(0)
        PERFORMED[word] += turn == 10
    return f"done: {word}"


OPTIONS = Options(brings=lambda _: Brought(operations=(act,)))


def said(text: str, chat: str = "1") -> InboundMessage:
    return InboundMessage(
        address=Address("fake", chat),
        message_id=text,
        dedupe_key=text,
        sender=Sender(OWNER),
        text=text,
        sent_at=1.0,
    )


class Polled(FakeChannel):
    """A platform that brings everything again which was not acknowledged."""

    def __init__(self, batches: list[list[InboundMessage]]) -> None:
        super().__init__()
        self.batches = batches
        self.begins = asyncio.Event()

    async def run(self, intake: Intake) -> None:
        intake.alive()
        await self.begins.wait()
        while self.batches:
            await intake.admit(self.batches[0], self.batches[0][-1].dedupe_key)
            del self.batches[0]
        await asyncio.Event().wait()


def deliveries() -> list[list[InboundMessage]]:
    return [[said("/act one"), said("hello")], [said("/act two", "2")], [said("/act three")]]


async def texts(bot: FakeGateway) -> Counter[str]:
    await bot.settle()
    return Counter(message.text for message in bot.channel.sent)


@pytest.mark.parametrize("turn", range(0, TURNS, 3))
async def test_a_stop_in_a_delivery_repeats_no_command(turn: int) -> None:
    PERFORMED.clear()
    batches = deliveries()
    async with MemoryHome() as home, asyncio.timeout(20):
        channel = Polled(batches)
        async with gateway(channel=channel, home=home, options=OPTIONS) as bot:
            channel.begins.set()
            for _ in range(turn):
                await asyncio.sleep(0)
            await bot.host.stop_intake()
            sent = await texts(bot)
        channel = Polled(batches)
        channel.begins.set()
        async with gateway(channel=channel, home=home, options=OPTIONS) as bot:
            sent += await texts(bot)
    assert not batches
    assert PERFORMED == {"one": 1, "two": 1, "three": 1}, turn
    assert sent == dict.fromkeys(("done: one", "done: two", "done: three", "echo: hello"), 1)
