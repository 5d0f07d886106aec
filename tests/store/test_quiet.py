"""What is said unasked beyond its limits: held back, and told once, on every kind of store."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.bus.core import Bus
from nanobot.errors import StoreError
from nanobot.messages import (
    Address,
    Attachment,
    InboundMessage,
    OutboundKind,
    OutboundMessage,
    Role,
    Sender,
)
from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.common.views.digests import DIGEST
from nanobot.plugins.jobs.rules import JobStore
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.plugins.language.service import in_language
from nanobot.plugins.quiet.hours import HeldBack, QuietHours, digest
from nanobot.plugins.quiet.settings import QuietLimitSettings, QuietSettings
from nanobot.plugins.quiet.store import limiter
from nanobot.session.entries import PostEntry
from nanobot.session.inbox import Admission
from nanobot.session.outbox import OutboundRow
from nanobot.store.database import schema
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.unit import StoreContext
from nanobot.testing.gateway import MemoryHome, Process
from nanobot.testing.machine import ManualClock
from tests.plugins.cron.scheduling import service_over
from tests.store.home import Home, in_memory
from tests.stored import outbox_of

CHAT = Address("fake", "1")
HOUR, DAY = 3_600.0, 86_400.0
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()


class Told:
    """A process that posts into chats and delivers what may be delivered."""

    def __init__(self, home: Home, settings: QuietSettings) -> None:
        self.home = home
        hooks = store_hooks(quiet=limiter(QuietHours(settings)))
        writer = StoreContext(home.clock, home.ids, "us", 600.0 if home.shared else None, hooks)
        self.journal = SqlJournal(home.database, writer)
        self.jobs = SqlJobs(home.database, writer)
        self.cron = service_over(self.jobs, Bus(self.journal), home.clock)
        self.texts: list[str] = []
        self.posted = 0

    async def post(self, text: str = "", to: Address = CHAT, **more: Any) -> None:
        self.posted += 1
        message = OutboundMessage(
            address=to,
            text=text or f"news {self.posted}.",
            key=f"post:{self.posted}",
            kind=OutboundKind.POST,
        )
        await self.journal.post(str(to), msgspec.structs.replace(message, **more))

    async def look(self) -> list[str]:
        """What is due is done and sent; returns what arrived now."""
        await self.cron.fire()
        now = []
        for address in await self.journal.owed_chats("fake"):
            while (row := await self.journal.next_outbound(address)) is not None:
                await sent(self.home, row)
                now.append(row.message.text)
        self.texts += now
        return now

    async def hears(self, person: str = "1001", to: Address = CHAT, *, group: bool = False) -> None:
        """A person has spoken there."""
        self.posted += 1
        message = InboundMessage(
            address=to,
            message_id=f"m{self.posted}",
            dedupe_key=f"m{self.posted}",
            sender=Sender(person),
            text="hello",
            sent_at=self.home.clock.now(),
            group=group,
        )
        admission = Admission(message=message, session_key=str(to), role=Role.OWNER)
        await self.journal.admit(to.channel, [admission], None, 50)


async def sent(home: Home, row: OutboundRow) -> None:
    await home.execute("UPDATE outbound SET state = 'sent' WHERE id = :i", i=row.id)


def at_noon(home: Home) -> Home:
    home.clock = ManualClock(NOON)
    return home


async def test_an_hour_with_100_posts_is_the_limit_and_one_digest(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=6, max_per_day=30))
    for _ in range(100):
        await process.post()
        home.clock.advance(30)
        await process.look()
    home.clock.advance(20 * 60)
    (text,) = await process.look()
    assert process.texts[:6] == [f"news {n}." for n in range(1, 7)]
    assert len(process.texts) == 7
    assert text.startswith("94 messages were held back")
    assert "- 69 earlier ones" in text
    assert "news 100" in text
    assert len(text) < 4_000
    bodies = await home.bodies("fake:1")
    assert [b.text for b in bodies if isinstance(b, PostEntry)] == [
        f"news {n}." for n in range(1, 101)
    ]
    home.clock.advance(DAY)
    assert await process.look() == []


async def test_what_is_held_back_alone_comes_as_it_was_said(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1))
    await process.post()
    await process.post("The whole of it.\n\nWith a second paragraph.")
    assert await process.look() == ["news 1."]
    home.clock.advance(HOUR + 1)
    assert await process.look() == ["The whole of it.\n\nWith a second paragraph."]


async def test_a_repeated_post_is_neither_held_twice_nor_told_twice(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1))
    for _ in range(3):
        process.posted = 0
        for _ in range(3):
            await process.post()
    await process.look()
    home.clock.advance(HOUR + 1)
    (text,) = await process.look()
    assert text.startswith("2 messages")
    process.posted = 1
    await process.post()
    assert await process.look() == []


async def test_in_the_night_all_is_held_back_until_the_morning(home: Home) -> None:
    settings = QuietSettings(quiet_from="22:00", quiet_until="08:00", zone="Europe/Berlin")
    process = Told(at_noon(home), settings)
    home.clock.advance(10 * HOUR)  # 23:00 in Berlin
    for _ in range(9):
        await process.post()
        home.clock.advance(HOUR - 1)
        assert await process.look() == []
    home.clock.advance(9)
    (text,) = await process.look()
    assert text.startswith("9 messages")
    assert "Tue 23:00 news 1" in text
    assert "Wed 06:59 news 9" in text


async def test_answers_questions_and_what_was_asked_for_are_never_held_back(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1, max_per_day=1))
    for kind in (OutboundKind.REPLY, OutboundKind.APPROVAL, OutboundKind.NOTICE):
        await process.post(kind=kind)
    for _ in range(3):
        await process.post(requested=True)
    await process.post()
    await process.post()
    assert await process.look() == [f"news {n}." for n in range(1, 8)]


@pytest.mark.parametrize(
    ("more", "heard"),
    [
        ({"schedule": "2026-03-10T13:00:00Z"}, 5),
        ({"schedule": "every hour", "here": True}, 5),
        ({"schedule": "every hour"}, 1),
    ],
)
async def test_reminders_always_come_and_so_does_what_a_chat_asked_for_itself(
    home: Home, more: dict[str, Any], heard: int
) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1))
    plan = Plan(
        name="tea",
        zone="UTC",
        anchor=NOON,
        text="Tea!",
        address=CHAT,
        session_key="fake:1",
        sender_id="1001",
        role=Role.OWNER,
        send=True,
        schedule="",
    )
    plan = msgspec.structs.replace(plan, **more)
    for number in range(5):
        reminder = msgspec.structs.replace(plan, name=f"tea {number}")
        await process.jobs.add(reminder, NOON + HOUR, "", 100)
    home.clock.advance(HOUR)
    assert len(await process.look()) == heard


async def test_chats_have_limits_of_their_own_and_people_one_over_all_theirs(home: Home) -> None:
    process = Told(
        at_noon(home),
        QuietSettings(
            max_per_hour=3,
            chats={"fake:9": QuietLimitSettings(max_per_hour=5), "fake:8": no_limit()},
            people={"fake:anna": QuietLimitSettings(max_per_hour=4)},
        ),
    )
    for chat, hears in (("9", 5), ("8", 9), ("7", 3)):
        for _ in range(9):
            await process.post(to=Address("fake", chat))
        assert len(await process.look()) == hears
    first, second = Address("fake", "a1"), Address("fake", "a2")
    for address in (first, second):
        await process.hears("anna", address)
        for _ in range(3):
            await process.post(to=address)
    assert len(await process.look()) == 4
    group = Address("fake", "g")
    await process.hears("anna", group, group=True)
    await process.post(to=group)
    assert len(await process.look()) == 1


def no_limit() -> QuietLimitSettings:
    return QuietLimitSettings(max_per_hour=0, max_per_day=0)


async def test_a_day_has_its_limit_and_the_digest_takes_a_place_in_it(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=0, max_per_day=3))
    for _ in range(5):
        await process.post()
        home.clock.advance(HOUR)
        await process.look()
    assert len(process.texts) == 3
    home.clock.advance(DAY - 5 * HOUR + 1)
    assert (await process.look())[0].startswith("2 messages")
    await process.post()
    assert await process.look() == []


async def test_without_limits_nothing_is_held_and_what_was_comes_at_once(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1))
    for _ in range(4):
        await process.post()
    await process.look()
    free = Told(home, QuietSettings(max_per_hour=0, max_per_day=0))
    assert (await free.look())[0].startswith("3 messages")
    free.posted = 100
    for _ in range(50):
        await free.post()
    assert len(await free.look()) == 50


async def test_a_digest_brings_all_files_and_what_is_from_outside_marks_it(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1))
    await process.post()
    await process.post("**Look** at `this`\nand that", tainted=True)
    for name in ("a.pdf", "b.pdf"):
        file = Attachment(kind="document", name=name, blob="0" * 64)
        await process.post(" ", attachments=(file,))
    await process.look()
    home.clock.advance(HOUR + 1)
    await process.cron.fire()
    row = await process.journal.next_outbound(CHAT)
    assert row is not None
    assert [file.name for file in row.message.attachments] == ["a.pdf", "b.pdf"]
    assert row.message.tainted
    assert "12:00 Look at this and that" in row.message.text
    assert "(a file)" in row.message.text


async def test_each_thread_has_its_digest(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=2))
    threads = [Address("fake", "1", thread) for thread in ("x", "y")]
    for _ in range(4):
        for thread in threads:
            await process.post(to=thread)
    assert len(await process.look()) == 2
    home.clock.advance(HOUR + 1)
    assert [text.split()[0] for text in await process.look()] == ["3", "3"]


async def test_what_is_held_can_be_dropped_and_erased(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1))
    for _ in range(4):
        await process.post()
    await process.look()
    held = await outbox_of(home.records()).listed(state="held", limit=9)
    assert [row.state for row in held] == ["held"] * 3
    assert await outbox_of(home.records()).drop(held[0].id)
    await home.eraser().erase("fake:1", 3, "local")
    home.clock.advance(HOUR + 1)
    assert await process.look() == ["news 2."]


async def test_erasing_a_message_erases_the_digest_that_quotes_it(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1))
    for text in ("one", "a secret that is long. " * 30, "three"):
        await process.post(text)
    await process.look()
    home.clock.advance(HOUR + 1)
    await process.cron.fire()
    await home.eraser().erase("fake:1", 2, "local")
    assert await process.look() == []
    everything = str(await home.everything())
    assert "a secret" not in everything


@in_memory
async def test_a_clock_that_was_a_year_ahead_holds_nothing_back(home: Home) -> None:
    process = Told(at_noon(home), QuietSettings(max_per_hour=1))
    home.clock.set_by(365 * DAY)
    await process.post()
    home.clock.set_by(-365 * DAY)
    await process.post()
    assert len(await process.look()) == 2


@pytest.mark.process
@settings(max_examples=15)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([0, 5]),
    st.sampled_from([("", ""), ("22:00", "07:00")]),
)
async def test_whatever_ends_the_process_each_post_is_told_once(
    seed: int, hour: int, day: int, night: tuple[str, str]
) -> None:
    rng = random.Random(seed)
    limits = QuietSettings(
        max_per_hour=hour, max_per_day=day, quiet_from=night[0], quiet_until=night[1]
    )
    async with MemoryHome(ManualClock(NOON)) as home:
        for life in range(6):
            await _life(home, rng, limits, life)
        last = _process(home, QuietSettings(max_per_hour=0, max_per_day=0))
        assert isinstance(last.jobs, JobStore)
        await last.jobs.release(None)
        rows = home.do(lambda c: c.execute(sa.select(schema.outbound)).all())
        posts = [entry.body for entry in home.entries("fake:1")]
        keys = [body.key for body in posts if isinstance(body, PostEntry)]
        assert sorted(keys) == sorted(row.key for row in rows if not row.key.startswith(DIGEST))
        digests = [row.key.removeprefix(DIGEST).split("-") for row in rows if DIGEST in row.key]
        for row in rows:
            told_in = sum(int(first) <= row.id <= int(end) for first, end in digests)
            if row.state == "digested":
                assert told_in == 1
            else:
                assert row.state == "pending"


def _process(home: MemoryHome, limits: QuietSettings) -> Process:
    return Process(home, store_hooks(quiet=limiter(QuietHours(limits))))


async def _life(home: MemoryHome, rng: random.Random, limits: QuietSettings, life: int) -> None:
    """A process that says a few things and is killed around one of its commits."""
    process = _process(home, limits)
    left, after = rng.randrange(2, 40), rng.random() < 0.5

    def reach(_verb: str) -> None:
        nonlocal left
        left -= 1
        process.dead = process.dead or left == 0

    if after:
        process.after = reach
    else:
        process.before = reach
    assert isinstance(home.clock, ManualClock)
    assert isinstance(process.jobs, JobStore)
    for number in range(12):
        key = f"{life}.{number}"
        post = OutboundMessage(address=CHAT, text=key, key=key, kind=OutboundKind.POST)
        try:
            await process.journal.post("fake:1", post)
            await process.jobs.release(None)
        except StoreError:
            return
        home.clock.advance(rng.choice([1.0, 300.0, HOUR, 5 * HOUR]))


def test_a_digest_in_a_chinese_chat_quotes_what_was_held_back_as_it_is() -> None:
    held = [HeldBack("Stopped.", 0.0), HeldBack("", 60.0)]
    text, own = digest(held, "telegram:1", "UTC")
    message = OutboundMessage(address=Address("telegram", "1"), text=text, key="d", own=own)
    assert in_language(message, "en").text == text
    assert in_language(message, "zh").text == (
        "为免打扰，暂缓了 2 条消息：\n\n- 00:00 Stopped.\n- 00:01 （一个文件）\n\n"
        "可以让我给出全文，或运行 `sessions show telegram:1`。"
    )
