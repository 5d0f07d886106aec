"""The bus: what is accepted is kept, who must act is woken once, who watches slows nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from nanobot.bus.core import Bus
from nanobot.messages import (
    Address,
    EventKind,
    InboundMessage,
    Origin,
    OutboundMessage,
    Role,
    RunEvent,
    Sender,
)
from nanobot.plugins.common.event_handlers import Handler
from nanobot.session.inbox import Admission
from nanobot.session.states import RunKind
from nanobot.testing.gateway import MemoryHome, Process


@pytest.fixture
async def bus() -> AsyncIterator[Bus]:
    async with MemoryHome() as home:
        yield Bus(Process(home).journal, lane_limit=3)


def event(seq: int, session: str = "fake:1", kind: EventKind = EventKind.MODEL_DELTA) -> RunEvent:
    return RunEvent(
        run_id="r", session_key=session, model_call=1, seq=seq, kind=kind, at=0.0, payload={}
    )


def admission(
    key: str, *, chat: str = "1", origin: Origin = Origin.USER, answer: str = ""
) -> Admission:
    address = Address("fake", chat)
    message = InboundMessage(
        address=address,
        message_id=key,
        dedupe_key=key,
        sender=Sender("1001"),
        text=key,
        sent_at=0.0,
        origin=origin,
    )
    return Admission(
        message=message,
        session_key=f"fake:{chat}",
        role=Role.OWNER,
        answer=OutboundMessage(address=address, text=answer, key=key) if answer else None,
    )


async def nothing_more(bus: Bus, kind: RunKind = RunKind.CHAT) -> bool:
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(bus.next_lane(kind))
        for _ in range(20):
            await asyncio.sleep(0)
        done = waiting.done()
        waiting.cancel()
    return not done


# Watching


async def test_a_watcher_sees_its_session_in_order_and_no_other(bus: Bus) -> None:
    watching = aiter(bus.subscribe("fake:1"))
    for seq in (1, 2):
        bus.emit(event(seq, "fake:2"))
        bus.emit(event(seq))
    assert [(await anext(watching)).seq for _ in range(2)] == [1, 2]


async def test_a_watcher_of_everything_sees_every_session_but_only_its_kinds(
    bus: Bus,
) -> None:
    watching = aiter(bus.subscribe(None, frozenset({EventKind.END})))
    bus.emit(event(1))
    bus.emit(event(2, "fake:2", EventKind.END))
    assert (await anext(watching)).session_key == "fake:2"


async def test_a_slow_watcher_loses_its_oldest_events_and_slows_nobody(bus: Bus) -> None:
    slow = bus.subscribe("fake:1")
    for seq in range(1_500):
        bus.emit(event(seq))
    assert slow.lost == 500
    assert (await anext(aiter(slow))).seq == 500


async def test_a_waiting_watcher_is_woken(bus: Bus) -> None:
    watching = bus.subscribe("fake:1")

    async def first() -> RunEvent:
        return await anext(aiter(watching))

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(first())
        await asyncio.sleep(0)
        bus.emit(event(7))
    assert waiting.result().seq == 7


async def test_a_handler_gets_its_kinds_of_every_session_at_once(bus: Bus) -> None:
    seen: list[int] = []
    handler = Handler(frozenset({EventKind.END}), lambda ended: seen.append(ended.seq))
    bus.watch(handler)
    bus.emit(event(1))
    bus.emit(event(2, "fake:2", EventKind.END))
    assert seen == [2]
    bus.unsubscribe(handler)
    bus.emit(event(3, "fake:2", EventKind.END))
    assert seen == [2]


async def test_nobody_watches_after_the_last_one_left(bus: Bus) -> None:
    first, second = bus.subscribe("fake:1"), bus.subscribe("fake:1")
    bus.unsubscribe(first)
    assert bus.watched("fake:1")
    bus.unsubscribe(second)
    assert not bus.watched("fake:1")
    bus.emit(event(1))


# Wake-ups


async def test_a_lane_is_woken_once_however_often_it_is_asked_for(bus: Bus) -> None:
    for _ in range(3):
        bus.wake("fake:1", RunKind.CHAT)
    assert await bus.next_lane(RunKind.CHAT) == "fake:1"
    assert await nothing_more(bus)
    bus.wake("fake:1", RunKind.CHAT)
    assert await bus.next_lane(RunKind.CHAT) == "fake:1"


async def test_lanes_take_turns(bus: Bus) -> None:
    for chat in ("a", "b", "a", "c"):
        bus.wake(chat, RunKind.CHAT)
    order = []
    for _ in range(4):
        order.append(await bus.next_lane(RunKind.CHAT))
        bus.wake(order[0], RunKind.CHAT)
    assert order == ["a", "b", "c", "a"]


async def test_background_lanes_are_apart(bus: Bus) -> None:
    bus.wake("fake:1", RunKind.TASK)
    assert await nothing_more(bus)
    assert await bus.next_lane(RunKind.TASK) == "fake:1"


async def test_what_an_earlier_process_left_is_found_again(bus: Bus) -> None:
    await bus.admit("fake", [admission("a"), admission("b", chat="2")])
    later = Bus(bus.journal)
    assert [lane.session_key for lane in await later.recover()] == ["fake:1", "fake:2"]
    assert [await later.next_lane(RunKind.CHAT) for _ in range(2)] == ["fake:1", "fake:2"]


# Inbound


async def test_a_message_wakes_its_lane_once_it_is_kept(bus: Bus) -> None:
    (done,) = await bus.admit("fake", [admission("a")], cursor="7")
    assert done.fresh
    assert await bus.next_lane(RunKind.CHAT) == "fake:1"
    assert await bus.journal.cursor("fake") == "7"


async def test_what_happens_by_itself_runs_in_the_background(bus: Bus) -> None:
    await bus.admit("fake", [admission("a", origin=Origin.CRON)])
    assert await bus.next_lane(RunKind.TASK) == "fake:1"


async def test_the_same_message_is_taken_in_once(bus: Bus) -> None:
    await bus.admit("fake", [admission("a"), admission("a")])
    (again,) = await bus.admit("fake", [admission("a")])
    assert not again.fresh
    claim = await bus.journal.claim("fake:1", "run", "UTC")
    assert claim
    assert len(claim.entries) == 1


async def test_a_message_brought_again_wakes_what_it_may_not_have_woken(bus: Bus) -> None:
    """Whoever brought it first may have died between the commit and the wake-up."""
    owed = bus.owed_chats("fake")
    await bus.journal.admit("fake", [admission("a"), admission("b", answer="yes")], None, 50)
    await bus.admit("fake", [admission("a"), admission("b", answer="yes")])
    assert await bus.next_lane(RunKind.CHAT) == "fake:1"
    assert await owed.get() == "1"


async def test_an_answer_at_once_wakes_the_chat_and_not_the_lane(bus: Bus) -> None:
    owed = bus.owed_chats("fake")
    await bus.admit("fake", [admission("a", answer="yes")])
    assert await owed.get() == "1"
    assert await nothing_more(bus)


async def test_a_full_lane_refuses_and_says_so_in_the_chat(bus: Bus) -> None:
    owed = bus.owed_chats("fake")
    done = await bus.admit("fake", [admission(f"{n}") for n in range(4)])
    assert [admitted.refused for admitted in done] == [False, False, False, True]
    assert await owed.get() == "1"


async def test_chats_that_are_owed_something_wait_once_and_only_where_somebody_sends(
    bus: Bus,
) -> None:
    owed = bus.owed_chats("fake")
    for _ in range(3):
        bus.owed(Address("fake", "1"))
        bus.owed(Address("nobody", "1"))
    assert await owed.get() == "1"
    later = bus.owed_chats("nobody")
    for queue in (owed, later):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await queue.get()


# Mail


async def test_mail_is_told_of_once(bus: Bus) -> None:
    assert not bus.mail_came("fake:1")
    await bus.admit("fake", [admission("a")])
    assert bus.mail_came("fake:1")
    assert not bus.mail_came("fake:1")
    assert not bus.mail_came("fake:2")


async def test_what_a_run_has_taken_is_no_mail_but_what_came_after_it_is(bus: Bus) -> None:
    (first,) = await bus.admit("fake", [admission("a")])
    bus.mail_taken("fake:1", first.inbound_id)
    assert not bus.mail_came("fake:1")
    await bus.admit("fake", [admission("b")])
    bus.mail_taken("fake:1", first.inbound_id)
    assert bus.mail_came("fake:1")
    bus.mail_taken("fake:1", first.inbound_id)


async def test_what_is_answered_at_once_is_no_mail(bus: Bus) -> None:
    await bus.admit("fake", [admission("a", answer="yes")])
    assert not bus.mail_came("fake:1")
