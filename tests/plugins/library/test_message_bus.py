"""MessageBus: what is published is kept, what is consumed is settled by the next call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine

import pytest

from nanobot.errors import UsageError
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.testing.gateway import MemoryHome, Process


def said(text: str, chat: str = "1", key: str = "") -> InboundMessage:
    return InboundMessage(
        address=Address("app", chat),
        message_id=text,
        dedupe_key=key or text,
        sender=Sender("ann"),
        text=text,
        sent_at=0.0,
    )


def owed(text: str, chat: str = "1") -> OutboundMessage:
    return OutboundMessage(address=Address("app", chat), text=text, key=f"{chat}:{text}")


@pytest.fixture
async def home() -> AsyncIterator[MemoryHome]:
    async with MemoryHome() as opened:
        yield opened


async def nothing_comes(waiting: asyncio.Task[object]) -> bool:
    for _ in range(50):
        await asyncio.sleep(0)
    waiting.cancel()
    return not waiting.done()


async def test_a_bus_alone_hands_out_what_was_published_in_order() -> None:
    bus = MessageBus()
    await bus.publish_inbound(said("a"))
    await bus.publish_inbound(said("b", chat="2"))
    assert [(await bus.consume_inbound()).text for _ in "ab"] == ["a", "b"]
    await bus.publish_outbound(owed("c"))
    await bus.publish_outbound(owed("d", chat="2"))
    assert [(await bus.consume_outbound()).text for _ in "cd"] == ["c", "d"]
    await bus.close()


async def test_a_message_published_twice_is_handed_out_once(home: MemoryHome) -> None:
    bus = MessageBus(Process(home).journal)
    for text, key in [("a", "1"), ("a", "1"), ("b", "2")]:
        await bus.publish_inbound(said(text, key=key))
    await bus.publish_outbound(owed("c"))
    await bus.publish_outbound(owed("c"))
    await bus.publish_outbound(owed("d"))
    assert [(await bus.consume_inbound()).text for _ in "ab"] == ["a", "b"]
    assert [(await bus.consume_outbound()).text for _ in "cd"] == ["c", "d"]


async def test_what_a_dead_consumer_held_is_offered_again(home: MemoryHome) -> None:
    bus = MessageBus(Process(home).journal)
    for text in "abc":
        await bus.publish_inbound(said(text))
        await bus.publish_outbound(owed(text))
    assert (await bus.consume_inbound()).text == "a"
    assert (await bus.consume_inbound()).text == "b"
    assert (await bus.consume_outbound()).text == "a"
    assert (await bus.consume_outbound()).text == "b"

    later = MessageBus(Process(home).journal)
    assert [(await later.consume_inbound()).text for _ in "bc"] == ["b", "c"]
    assert [(await later.consume_outbound()).text for _ in "bc"] == ["b", "c"]


async def test_a_session_waits_while_its_message_is_in_hand(home: MemoryHome) -> None:
    journal = Process(home).journal
    first, other = MessageBus(journal), MessageBus(journal)
    for text, chat in [("a", "1"), ("b", "1"), ("c", "2")]:
        await first.publish_inbound(said(text, chat))
    assert (await first.consume_inbound()).text == "a"
    assert (await other.consume_inbound()).text == "c"
    waiting: asyncio.Task[object] = asyncio.create_task(other.consume_inbound())
    assert await nothing_comes(waiting)
    assert (await first.consume_inbound()).text == "b"


async def test_a_consumer_that_waits_is_woken(home: MemoryHome) -> None:
    bus = MessageBus(Process(home).journal)
    async with asyncio.TaskGroup() as tasks:
        came = tasks.create_task(bus.consume_inbound())
        went = tasks.create_task(bus.consume_outbound())
        await asyncio.sleep(0)
        await bus.publish_inbound(said("a"))
        await bus.publish_outbound(owed("b"))
    assert (came.result().text, went.result().text) == ("a", "b")


async def test_a_cancelled_call_loses_nothing(home: MemoryHome) -> None:
    """Whenever it is cancelled: before, within and after the transaction."""
    bus = MessageBus(Process(home).journal)
    for number in range(12):
        await bus.publish_inbound(said(f"{number}"))
        await bus.publish_outbound(owed(f"{number}"))
        consumers: list[Callable[[], Coroutine[None, None, InboundMessage | OutboundMessage]]]
        consumers = [bus.consume_inbound, bus.consume_outbound]
        for consume in consumers:
            call = asyncio.create_task(consume())
            for _ in range(number):
                await asyncio.sleep(0)
            if not call.cancel():
                assert call.result().text == f"{number}"
                continue
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await consume()).text == f"{number}"


async def test_a_message_without_text_is_refused() -> None:
    with pytest.raises(UsageError):
        await MessageBus().publish_inbound(said(" \x00 "))


async def test_what_a_program_sends_stands_in_the_log(home: MemoryHome) -> None:
    await MessageBus(Process(home).journal).publish_outbound(owed("hello"))
    (entry,) = home.entries("app:1")
    assert "hello" in repr(entry.body)
