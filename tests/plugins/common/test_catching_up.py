"""The host puts missed and live messages in order, whatever platform they come from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from nanobot.errors import StoreUnwritable
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.plugins.common.catching_up import CatchingUp
from nanobot.ports import Missed
from tests.doubles.fake_intake import FakeIntake

ROOM, OTHER = Address("c", "room"), Address("c", "other")
THREAD = Address("c", "room", "thread")
NOW = 1_000_000


def said(at: int, place: Address = ROOM, *, reaction: bool = False) -> InboundMessage:
    return InboundMessage(
        address=place,
        message_id=str(at),
        dedupe_key=str(at),
        sender=Sender("7", "Ann"),
        text=str(at),
        sent_at=float(at),
        reaction=reaction,
    )


class Platform:
    """A history with ten positions a second. A place in `slow` is told once its event is set."""

    per_second = 10

    def __init__(self) -> None:
        self.hours = 1000.0
        self.kept: dict[Address, list[InboundMessage]] = {}
        self.slow: dict[Address, asyncio.Event] = {}
        self.news: dict[Address, list[Address]] = {}
        self.asked: list[tuple[Address, int]] = []

    async def now(self) -> int:
        return NOW

    def cursor(self, latest: int, first: int) -> str:
        return f"{latest}/{first}"

    def positions(self, cursor: str) -> tuple[int, int] | None:
        latest, slash, first = cursor.partition("/")
        return (int(latest), int(first)) if slash else None

    async def missed(self, place: Address, since: int) -> Missed:
        self.asked.append((place, since))
        if place in self.slow:
            await self.slow[place].wait()
        found = [each for each in self.kept.get(place, []) if int(each.message_id) > since]
        latest = max((int(each.message_id) for each in found), default=0)
        return Missed(messages=found, latest=latest, places=self.news.get(place, []))


@pytest.fixture
def platform() -> Platform:
    return Platform()


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake("500/100")


@asynccontextmanager
async def looking(
    platform: Platform, intake: FakeIntake, places: Sequence[Address]
) -> AsyncIterator[CatchingUp]:
    ordered = CatchingUp(intake, platform)
    await ordered.begin()
    task = asyncio.create_task(ordered.run())
    try:
        await ordered.look_back(places)
        yield ordered
    finally:
        task.cancel()
        await asyncio.wait([task])


def texts(intake: FakeIntake) -> list[str]:
    return [message.text for message in intake.messages]


async def quiet() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_at_the_very_first_start_now_is_kept(platform: Platform) -> None:
    for stored in (None, "", "garbage"):
        intake = FakeIntake(stored)
        ordered = CatchingUp(intake, platform)
        assert not await ordered.begin()
        assert intake.stored == f"{NOW}/{NOW}"
        assert await ordered.begin()


async def test_a_resumed_connection_keeps_the_stored_positions(
    platform: Platform, intake: FakeIntake
) -> None:
    ordered = CatchingUp(intake, platform)
    await ordered.admit(said(400))
    assert intake.stored == "500/100"
    await ordered.take(said(600), 600)
    assert intake.stored == "600/100"


async def test_live_messages_wait_for_what_was_missed_in_their_place(
    platform: Platform, intake: FakeIntake
) -> None:
    platform.kept = {ROOM: [said(600), said(700)], OTHER: [said(650, OTHER)]}
    platform.slow[ROOM] = asyncio.Event()
    done: list[str] = []
    async with looking(platform, intake, [ROOM, OTHER]) as ordered:
        await ordered.take(said(800), 800, lambda: done.append("800"))
        await ordered.take(said(810, Address("c", "new")), 810, lambda: done.append("810"))
        await quiet()
        assert (texts(intake), done, ordered.settled) == (["810"], ["810"], False)
        assert intake.stored == "500/100"
        platform.slow[ROOM].set()
        await intake.until(lambda: ordered.settled and intake.stored == "810/100")
        assert ordered.kept == 810
    assert [text for text in texts(intake) if text != "650"] == ["810", "600", "700", "800"]
    assert done == ["810", "800"]


async def test_what_the_history_has_too_keeps_its_place_and_comes_once(
    platform: Platform, intake: FakeIntake
) -> None:
    platform.kept = {ROOM: [said(600), said(700)]}
    platform.slow[ROOM] = asyncio.Event()
    done: list[int] = []
    async with looking(platform, intake, [ROOM]) as ordered:
        await ordered.take(said(600), 600, lambda: done.append(600))
        platform.slow[ROOM].set()
        await intake.until(lambda: ordered.settled)
        await quiet()
        await ordered.look_back([ROOM])
        await quiet()
        assert (len(platform.asked), ordered.settled) == (2, True)
    assert texts(intake) == ["600", "700"]
    assert done == [600]


async def test_a_look_back_begins_before_the_cursor_and_within_the_bounds(
    platform: Platform,
) -> None:
    platform.hours = 24.0
    for cursor, since in (
        ("990000/100", 990_000 - 600),  # a minute before
        ("100/50", NOW - 24 * 36_000),  # a day back
        ("990000/989900", 989_899),  # not before the first start
    ):
        intake = FakeIntake(cursor)
        async with looking(platform, intake, [ROOM]) as ordered:
            await quiet()
            assert ordered.settled
        assert platform.asked.pop() == (ROOM, since)


async def test_a_connection_that_breaks_meanwhile_is_looked_up_once_more(
    platform: Platform, intake: FakeIntake
) -> None:
    platform.kept = {ROOM: [said(600)]}
    platform.slow[ROOM] = asyncio.Event()
    async with looking(platform, intake, [ROOM]) as ordered:
        await quiet()
        await ordered.look_back([ROOM])
        platform.slow[ROOM].set()
        await intake.until(lambda: ordered.settled)
        await quiet()
    assert len(platform.asked) == 2
    assert texts(intake) == ["600"]


async def test_a_thread_that_turns_out_to_have_news_is_looked_up_before_its_live_messages(
    platform: Platform, intake: FakeIntake
) -> None:
    platform.kept = {ROOM: [said(600)], THREAD: [said(610, THREAD)]}
    platform.news = {ROOM: [THREAD]}
    platform.slow[ROOM] = asyncio.Event()
    async with looking(platform, intake, [ROOM]) as ordered:
        await ordered.take(said(620, THREAD), 620)
        platform.slow[ROOM].set()
        await intake.until(lambda: len(intake.messages) == 3)
        await quiet()
        assert ordered.settled
    assert texts(intake) == ["600", "610", "620"]
    assert intake.stored == "620/100"


async def test_what_the_store_refuses_ends_the_look_and_moves_nothing(
    platform: Platform, intake: FakeIntake
) -> None:
    platform.kept = {ROOM: [said(600)]}
    intake.failures.append(StoreUnwritable("full"))
    ordered = CatchingUp(intake, platform)
    await ordered.begin()
    await ordered.look_back([ROOM])
    with pytest.raises(StoreUnwritable):
        await ordered.run()
    assert (texts(intake), intake.stored, ordered.kept) == ([], "500/100", 500)
    async with looking(platform, intake, [ROOM]) as again:
        await intake.until(lambda: again.settled)
        await quiet()
    assert texts(intake) == ["600"]


async def test_presses_and_reactions_wait_for_nothing_and_may_come_again(
    platform: Platform, intake: FakeIntake
) -> None:
    platform.slow[ROOM] = asyncio.Event()
    async with looking(platform, intake, [ROOM]) as ordered:
        await ordered.admit(said(1, reaction=True))
        await ordered.admit(said(1, reaction=True))
        assert texts(intake) == ["1", "1"]
        assert intake.stored == "500/100"


async def test_the_same_edit_comes_once(platform: Platform, intake: FakeIntake) -> None:
    edit = msgspec.structs.replace(said(600), edit_of="600")
    async with looking(platform, intake, []) as ordered:
        await ordered.take(edit)
        await ordered.take(edit)
    assert texts(intake) == ["600"]


async def test_the_cursor_moves_over_what_is_nobodys_question(
    platform: Platform, intake: FakeIntake
) -> None:
    async with looking(platform, intake, []) as ordered:
        ordered.passed(900)
        await ordered.take(said(800), 800)
    assert intake.stored == "900/100"
