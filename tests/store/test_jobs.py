"""Scheduled jobs, on every kind of store: each due time has one row and one end."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.bus.core import Bus
from nanobot.errors import UsageError
from nanobot.messages import (
    Address,
    InboundMessage,
    OutboundKind,
    OutboundMessage,
    Role,
    RunOptions,
    Sender,
)
from nanobot.plugins.common.jobs.plans import Fired, Job, OccurrenceView, Plan
from nanobot.plugins.cron.editing import JobEditor, JobRequest, Requester
from nanobot.plugins.cron.jobs import following
from nanobot.plugins.cron.schedule import parse
from nanobot.plugins.jobs.rules import KEPT_SECONDS
from nanobot.plugins.jobs.store import jobs as job_store
from nanobot.plugins.jobs.store import keeping
from nanobot.plugins.jobs.store.occurrences import open_of
from nanobot.session.entries import UserEntry
from nanobot.session.inbox import Admission
from nanobot.session.runs import Ending, Lane, Run
from nanobot.session.states import RunState
from nanobot.store.database import schema
from tests.plugins.cron.scheduling import service_over
from tests.store.home import Home, in_file, in_memory, on_sqlite

CHAT = Address("fake", "1")
HOUR = 3_600.0
MINUTE = 60.0


def plan(home: Home, schedule: str = "every hour", **more: object) -> Plan:
    now = home.clock.now()
    read = parse(schedule, "UTC", now)
    described = Plan(
        name="look",
        schedule=read.text,
        zone="UTC",
        anchor=getattr(read, "anchor", now),
        text="Look at it.",
        address=CHAT,
        session_key="fake:1",
        sender_id="1001",
        role=Role.OWNER,
        by="fake:1001",
        options=RunOptions(direct=True, history=()),
    )
    return msgspec.structs.replace(described, **more)


async def add(home: Home, described: Plan, key: str = "") -> Job:
    return await home.jobs().add(described, following(described, home.clock.now()), key, 100)


async def look(home: Home, after: float = 0.0, *, owner: str = "us") -> Fired:
    """What a process does, some seconds later, that settles what has ended and does what is due."""
    home.clock.advance(after)
    return await service_over(home.jobs(owner), Bus(home.journal()), home.clock).fire()


async def statuses(home: Home, job: Job) -> list[str]:
    firings = await home.jobs().history(job_id=job.id, limit=1_000)
    firings = sorted(firings, key=lambda firing: firing.scheduled_at)
    return [status for firing in firings for status in [firing.status] * firing.count]


async def latest(home: Home, job: Job) -> OccurrenceView:
    return (await home.jobs().history(job_id=job.id, limit=1))[0]


async def run(home: Home, job: Job, ending: Ending) -> list[str]:
    """The job's run begins and ends so; returns what it was asked."""
    journal = home.journal()
    key = f"cron:{job.id}"
    claim = await journal.claim(key, home.ids.run_id(), "UTC")
    assert claim is not None
    texts = [e.body.text for e in claim.entries if isinstance(e.body, UserEntry)]
    await journal.finish(claim.lane, claim.run, replied(ending, claim.run.reply_key))
    return texts[-1:]


def replied(ending: Ending, key: str) -> Ending:
    outbound = tuple(
        msgspec.structs.replace(message, key=key, address=CHAT) for message in ending.outbound
    )
    return msgspec.structs.replace(ending, outbound=outbound)


def answer(text: str, state: RunState = RunState.FAILED) -> Ending:
    reply = OutboundMessage(address=CHAT, text=text, key="", direct=True)
    return Ending(state=state, outbound=(reply,), error="x" if state is RunState.FAILED else None)


FAILED = Ending(state=RunState.FAILED, error="limit_seconds")
# A run without a model call cannot be completed; for what a job makes of it, its state is enough.
STOPPED = Ending(state=RunState.ABORTED, error="stopped")


async def test_a_due_time_is_its_row_its_message_and_the_next_time_at_once(home: Home) -> None:
    job = await add(home, plan(home))
    assert (await look(home)).next_due == job.next_at
    fired = await look(home, HOUR)
    assert fired.wakes == (f"cron:{job.id}",)
    assert fired.next_due == (job.next_at or 0) + HOUR
    assert await statuses(home, job) == ["running"]
    assert await run(home, job, FAILED) == ["Look at it."]
    await look(home)
    firing = await latest(home, job)
    assert (firing.status, firing.error, firing.scheduled_at) == (
        "failed",
        "limit_seconds",
        job.next_at,
    )
    assert (await look(home)).wakes == ()


async def test_a_text_is_sent_as_it_is_and_stands_in_the_chats_history(home: Home) -> None:
    job = await add(home, plan(home, send=True, text="Stretch!"))
    fired = await look(home, HOUR)
    assert (fired.wakes, fired.owes) == ((), (CHAT,))
    owed = await home.journal().next_outbound(CHAT)
    assert owed is not None
    assert (owed.message.text, owed.message.kind) == ("Stretch!", OutboundKind.POST)
    assert owed.session_key == "fake:1"
    assert await statuses(home, job) == ["done"]


@pytest.mark.parametrize(
    ("text", "owed"),
    [
        ("The build is red.", "The build is red."),
        ("NOTHING_TO_SAY", None),
        ("**Nothing to say.**\n", None),
        ("", None),
    ],
)
async def test_what_a_run_of_its_own_said_is_posted_unless_it_is_nothing(
    home: Home, text: str, owed: str | None
) -> None:
    job = await add(home, plan(home))
    await look(home, HOUR)
    assert await home.journal().next_outbound(CHAT) is None
    await run(home, job, answer(text))
    for _ in range(2):
        await look(home)
    row = await home.journal().next_outbound(CHAT)
    assert (None if row is None else row.message.text) == owed


@pytest.mark.parametrize(
    ("misfire", "window", "expected"),
    [
        ("skip", HOUR, ["missed"] * 5),
        ("run_once", HOUR, ["missed"] * 4 + ["done"]),
        ("run_all", 2.6 * HOUR, ["missed"] * 2 + ["done"] * 3),
    ],
)
async def test_times_that_were_missed_are_treated_as_the_job_says(
    home: Home, misfire: str, window: float, expected: list[str]
) -> None:
    job = await add(home, plan(home, send=True, misfire=misfire, window=window))
    await look(home, 5.5 * HOUR)
    assert await statuses(home, job) == expected
    await look(home, 0.5 * HOUR)
    assert await statuses(home, job) == [*expected, "done"]


async def test_what_was_to_be_done_once_is_done_late_and_says_so(home: Home) -> None:
    job = await add(home, plan(home, "+20m", send=True, misfire="skip", text="Tea"))
    await look(home, 30 * 86_400)
    row = await home.journal().next_outbound(CHAT)
    assert row is not None
    due = datetime.fromtimestamp(job.next_at or 0, UTC)
    assert row.message.text.startswith(f"[Late: this was due at {due:%Y-%m-%d %H:%M} (UTC)")
    assert row.message.text.endswith("\nTea")
    assert await statuses(home, job) == ["done"]
    assert (await home.jobs().find(str(job.id))).state == "done"


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("skip", ["running", "skipped", "skipped"]),
        ("queue", ["running", "running", "running"]),
        ("replace", ["cancelled", "cancelled", "running"]),
    ],
)
async def test_a_time_that_comes_too_early_is_treated_as_the_job_says(
    home: Home, overlap: str, expected: list[str]
) -> None:
    job = await add(home, plan(home, overlap=overlap))
    await look(home, HOUR)
    claim = await home.journal().claim(f"cron:{job.id}", "run-a", "UTC")
    assert claim is not None
    stopped: list[Run] = []
    for _ in range(2):
        home.clock.advance(HOUR)
        stopped += (await look(home)).stopped
    assert await statuses(home, job) == expected
    assert [ended_run.id for ended_run in stopped] == (["run-a"] if overlap == "replace" else [])


async def test_no_more_than_ten_times_wait_for_each_other(home: Home) -> None:
    job = await add(home, plan(home, overlap="queue"))
    for _ in range(12):
        await look(home, HOUR)
    assert await statuses(home, job) == ["running"] * 10 + ["skipped"] * 2


async def test_a_failed_run_is_repeated_later_each_time(home: Home) -> None:
    job = await add(home, plan(home, "every day", retries=2))
    await look(home, 24 * HOUR)
    for wait in (60.0, 120.0):
        await run(home, job, FAILED)
        assert (await look(home)).next_due == home.clock.now() + wait
        assert await statuses(home, job) == ["waiting"]
        home.clock.advance(wait)
        assert (await look(home)).wakes == (f"cron:{job.id}",)
    await run(home, job, FAILED)
    await look(home)
    firing = await latest(home, job)
    assert (firing.status, firing.attempt) == ("failed", 3)


@pytest.mark.parametrize("taken", [False, True])
async def test_what_somebody_stops_is_cancelled(home: Home, taken: bool) -> None:
    job = await add(home, plan(home))
    await look(home, HOUR)
    if taken:
        await run(home, job, STOPPED)
    else:
        await home.execute("UPDATE inbound SET state = 'settled'")
    await look(home)
    assert await statuses(home, job) == ["cancelled"]


async def test_a_removed_job_leaves_nothing_waiting_and_its_name_is_free(home: Home) -> None:
    job = await add(home, plan(home))
    await look(home, HOUR)
    removed = msgspec.structs.replace(job, state="removed", next_at=None)
    await home.jobs().changed(removed)
    assert await statuses(home, job) == ["cancelled"]
    assert await home.journal().claim(f"cron:{job.id}", "run-a", "UTC") is None
    again = await add(home, plan(home))
    assert (await home.jobs().find("look")).id == again.id
    with pytest.raises(UsageError, match="no job"):
        await home.jobs().find("other")


async def test_a_name_is_taken_once_and_a_call_adds_once(home: Home) -> None:
    job = await add(home, plan(home), "run-1:1:0")
    assert await add(home, plan(home), "run-1:1:0") == job
    with pytest.raises(UsageError, match="called 'look' already"):
        await add(home, plan(home), "run-1:1:1")
    other = plan(home, name="other")
    with pytest.raises(UsageError, match="1 jobs for fake:1001 already"):
        await home.jobs().add(other, 1.0, "", 1)


async def test_a_job_ends_with_its_life(home: Home) -> None:
    job = await add(home, plan(home, send=True, expires_at=home.clock.now() + 2.5 * HOUR))
    for _ in range(4):
        await look(home, HOUR)
    assert await statuses(home, job) == ["done", "done"]
    assert (await home.jobs().find("look")).state == "done"


async def test_jitter_delays_and_is_the_same_after_a_restart(home: Home) -> None:
    job = await add(home, plan(home, send=True, jitter=600.0))
    due = (await look(home)).next_due
    assert due is not None
    assert job.next_at is not None
    assert 0 < due - job.next_at < 600
    home.clock.advance(due - home.clock.now() - 1)
    assert (await look(home)).next_due == due
    await look(home, 2)
    assert (await latest(home, job)).scheduled_at == job.next_at


async def test_two_processes_never_do_a_time_twice(home: Home) -> None:
    job = await add(home, plan(home, send=True))
    for _ in range(5):
        home.clock.advance(HOUR)
        async with asyncio.TaskGroup() as tasks:
            for owner in ("us", "them", "others"):
                tasks.create_task(look(home, owner=owner))
    assert await statuses(home, job) == ["done"] * 5
    count = await home.database.transact(
        lambda c: c.scalar(sa.select(sa.func.count()).select_from(schema.outbound))
    )
    assert count == 5


async def test_a_job_is_done_on_request_once_a_call(home: Home) -> None:
    job = await add(home, plan(home, send=True))
    jobs = home.jobs()
    assert (await jobs.trigger(job.id, at=None, key="call-1", text=""))[0] == "taken"
    assert (await jobs.trigger(job.id, at=None, key="call-1", text=""))[0] == "known"
    assert (await jobs.trigger(job.id, at=None, key="call-2", text=""))[0] == "taken"
    assert (await jobs.trigger(job.id, at=1.0, key="", text="Other"))[0] == "taken"
    assert (await jobs.trigger(job.id, at=1.0, key="", text="Other"))[0] == "known"
    assert await statuses(home, job) == ["done"] * 3


async def test_what_a_trigger_publishes_is_kept_once_and_in_order(home: Home) -> None:
    hook = plan(home, name="hook:ci", overlap="queue", waiting=2)
    publisher = service_over(home.jobs(), Bus(home.journal()), home.clock).publisher(hook)
    assert await publisher.publish("Build 1 failed.", key="1") == "taken"
    again = service_over(home.jobs("us"), Bus(home.journal()), home.clock).publisher(hook)
    assert await again.publish("Build 1 failed.", key="1") == "known"
    assert await again.publish("Build 2 failed.", key="2") == "taken"
    job = await home.jobs().find("hook:ci")
    assert await statuses(home, job) == ["running"] * 2
    for number in (1, 2):
        claim = await home.journal().claim("hook:ci", home.ids.run_id(), "UTC")
        assert claim is not None
        texts = [e.body.text for e in claim.entries if isinstance(e.body, UserEntry)]
        assert texts[-1:] == [f"Build {number} failed."]
        await home.journal().finish(claim.lane, claim.run, FAILED)


async def test_an_erased_message_of_a_job_is_gone_from_what_was_scheduled_too(home: Home) -> None:
    job = await add(home, plan(home))
    for text in ("It is 4711.", "It is 12."):
        await home.jobs().trigger(job.id, at=None, key=text, text=text)
        await look(home, 1.0)
        await run(home, job, answer("fine", RunState.COMPLETED))
    await home.eraser().erase(f"cron:{job.id}", 1, "owner")
    kept = b"".join(await home.column("SELECT body FROM occurrences"))
    assert b"4711" not in kept
    assert b"It is 12." in kept


@pytest.mark.process
async def test_what_is_published_in_the_same_moment_is_each_done(home: Home) -> None:
    hook = plan(home, name="hook:ci", overlap="queue", waiting=100)
    home.clock.set_by(0.1234)
    publisher = service_over(home.jobs(), Bus(home.journal()), home.clock).publisher(hook)
    for number in range(60):
        home.clock.advance(0.001 * (number % 3 == 0))
        assert await publisher.publish(f"Build {number}.", key=str(number)) == "taken"
    await look(home)
    job = await home.jobs().find("hook:ci")
    assert await statuses(home, job) == ["running"] * 60


async def test_past_its_limit_a_trigger_hears_that_nothing_was_kept(home: Home) -> None:
    hook = plan(home, name="hook:ci", overlap="queue", waiting=2)
    publisher = service_over(home.jobs(), Bus(home.journal()), home.clock).publisher(hook)
    keys = [await publisher.publish("Once more.", key=str(n)) for n in (1, 2, 3)]
    assert keys == ["taken", "taken", "full"]
    job = await home.jobs().find("hook:ci")
    await home.journal().finish(*(await claimed(home, "hook:ci")), FAILED)
    assert await publisher.publish("Once more.", key="3") == "taken"
    await look(home)
    assert await statuses(home, job) == ["failed", "running", "running"]


async def test_what_a_trigger_makes_is_woken_by_the_next_firing_and_what_ended_is_told(
    home: Home,
) -> None:
    job, jobs = await add(home, plan(home, overlap="queue")), home.jobs()
    session = f"cron:{job.id}"
    assert (await jobs.trigger(job.id, at=None, key="1", text="Build 1 failed."))[0] == "taken"
    assert (await look(home)).wakes == (session,)
    lane, run = await claimed(home, session)
    reply = OutboundMessage(address=CHAT, text="The net.", key=f"{run.id}:0", direct=True)
    await home.journal().finish(
        lane, run, Ending(state=RunState.FAILED, outbound=(reply,), error="x")
    )
    assert (await jobs.trigger(job.id, at=None, key="2", text="Build 2 failed."))[0] == "taken"
    fired = await look(home)
    assert (fired.wakes, fired.owes) == ((session,), (CHAT,))


async def test_what_is_not_to_be_posted_stays_in_the_log(home: Home) -> None:
    job = await add(home, plan(home, post=False))
    await look(home, HOUR)
    assert await run(home, job, answer("A limit was hit.")) == ["Look at it."]
    await look(home)
    assert await home.journal().next_outbound(CHAT) is None


async def claimed(home: Home, key: str) -> tuple[Lane, Run]:
    claim = await home.journal().claim(key, home.ids.run_id(), "UTC")
    assert claim is not None
    return claim.lane, claim.run


async def test_a_clock_that_was_ahead_does_not_keep_jobs_waiting(home: Home) -> None:
    ahead = 300 * 86_400.0
    home.clock.advance(ahead)
    job = await add(home, plan(home, send=True))
    await look(home, HOUR)
    home.clock.advance(-ahead)
    await home.jobs().realign(0)
    fired = await look(home)
    assert fired.next_due is not None
    assert 0 < fired.next_due - home.clock.now() <= HOUR
    await look(home, HOUR)
    assert await statuses(home, job) == ["done", "done"]


async def test_realigning_loses_no_time_that_was_missed(home: Home) -> None:
    job = await add(home, plan(home, send=True, misfire="run_all"))
    home.clock.advance(3.5 * HOUR)
    await home.jobs().realign(0)
    await look(home)
    assert await statuses(home, job) == ["done"] * 3


async def test_what_became_of_times_is_forgotten_after_ninety_days(home: Home) -> None:
    job = await add(home, plan(home, "+20m", send=True))
    await look(home, HOUR)
    home.clock.advance(KEPT_SECONDS + HOUR)
    after: int | None = 0
    while after is not None:
        after = await home.jobs().prune(after)
    with pytest.raises(UsageError, match="no job"):
        await home.jobs().find(str(job.id))


@in_file
async def test_a_month_of_minutes_is_worked_off_in_pieces(home: Home) -> None:
    job = await add(home, plan(home, "* * * * *", send=True))
    home.clock.advance(3 * 86_400)
    pieces = 1
    while (await home.jobs().fire()).more:
        pieces += 1
    assert pieces > 5
    firings = await home.jobs().history(job_id=job.id, limit=10_000)
    assert len(firings) == len({firing.scheduled_at for firing in firings}) == 2
    assert sum(firing.count for firing in firings) == 3 * 1_440
    assert sum(firing.status == "done" for firing in firings) == 1


@in_file
async def test_the_gateways_own_jobs_are_there_once(home: Home) -> None:
    first = await home.jobs().system(plan(home, name="heartbeat"))
    again = await home.jobs().system(plan(home, name="heartbeat", text="other"))
    assert first.id == again.id
    assert again.plan.text == "other"
    assert again.next_at is None


async def test_a_deleted_session_takes_what_was_to_be_done_there_along_and_not_that_it_was(
    home: Home,
) -> None:
    job = await add(home, plan(home, text="Look at the secret.", retries=2))
    await look(home, HOUR)
    await run(home, job, FAILED)
    await look(home)
    assert await statuses(home, job) == ["waiting"]
    await home.execute(
        "INSERT INTO background_commands "
        "(session_key, channel, chat_id, sender_id, role, command, owner, seen_at) "
        "VALUES (:key, 'fake', '1', '1', 'owner', 'echo secret', 'us', 0)",
        key=f"cron:{job.id}",
    )
    await home.eraser().delete(f"cron:{job.id}")
    assert await statuses(home, job) == ["cancelled"]
    home.clock.advance(HOUR / 2)
    assert (await look(home)).wakes == ()
    left = await home.everything()
    del left["jobs"]  # what is asked for goes on until the job is removed
    assert "secret" not in repr(left)


async def damage(home: Home, job: Job, how: str) -> None:
    """Something that an update of the system, or a disk, may do to what is kept of a job."""
    bodies = {
        "its zone is gone": msgspec.structs.replace(job.plan, zone="Europe/Atlantis"),
        "its schedule is none": msgspec.structs.replace(job.plan, schedule="0 9 * *"),
        "its name is half a letter": b'{"name":"\xff"}',
        "its body is cut off": b'{"name":"look","sche',
    }
    value = bodies[how]
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    await home.execute("UPDATE jobs SET body = :b WHERE id = :i", b=body, i=job.id)


DAMAGES = (
    "its zone is gone",
    "its schedule is none",
    "its name is half a letter",
    "its body is cut off",
)


async def hears(home: Home, chat: Address, sender: str, role: Role = Role.OWNER) -> None:
    """Somebody speaks in a chat of their own."""
    message = InboundMessage(
        address=chat,
        message_id="m",
        dedupe_key=f"m{sender}",
        sender=Sender(sender),
        text="hello",
        sent_at=home.clock.now(),
    )
    admission = Admission(message=message, session_key=str(chat), role=role)
    await home.journal().admit(chat.channel, [admission], None, 50)


async def told(home: Home, chat: Address = CHAT) -> list[str]:
    """What a chat is owed."""
    rows = await home.rows(
        "SELECT body FROM outbound WHERE chat_id = :c ORDER BY id", c=chat.chat_id
    )
    return [msgspec.json.decode(body, type=OutboundMessage).text for (body,) in rows]


@pytest.mark.parametrize("how", DAMAGES)
async def test_a_job_that_cannot_be_read_is_paused_its_owner_is_told_once_and_others_go_on(
    home: Home, how: str
) -> None:
    await hears(home, CHAT, "1001")
    broken = await add(home, plan(home, "30 * * * *", name="broken"))
    sound = await add(home, plan(home, name="sound", send=True, text="Stretch!"))
    await damage(home, broken, how)
    for _ in range(3):
        await look(home, HOUR)
    assert await statuses(home, sound) == ["done"] * 3
    (failed,) = await home.jobs().history(job_id=broken.id, limit=9)
    assert failed.status == "failed"
    job = await home.jobs().find("broken")
    assert (job.state, job.next_at, job.reason) == ("paused", None, failed.error)
    assert job.reason
    shown = {
        listed.id: listed.state for listed in await home.jobs().listed(state="", by="", limit=9)
    }
    assert shown == {broken.id: "paused", sound.id: "active"}
    texts = [text for text in await told(home) if text != "Stretch!"]
    assert len(texts) == 1
    assert texts[0].startswith(f"The job #{broken.id} (broken) was paused: {job.reason[:20]}")


@pytest.mark.parametrize("how", DAMAGES)
async def test_a_job_that_cannot_be_read_keeps_no_start_from_going_on(home: Home, how: str) -> None:
    broken = await add(home, plan(home, "30 * * * *", name="broken"))
    late = await add(home, plan(home, name="late", send=True))
    await damage(home, broken, how)
    await home.execute("UPDATE jobs SET next_at = 1e12, next_due = 1e12 WHERE id = :i", i=late.id)
    assert await home.jobs().realign(0) is None
    await look(home, HOUR)
    assert (await home.jobs().find("broken")).state == "paused"
    assert await statuses(home, late) == ["done"]


async def test_a_run_whose_job_cannot_be_read_any_more_ends_and_others_are_settled(
    home: Home,
) -> None:
    broken = await add(home, plan(home, name="broken"))
    sound = await add(home, plan(home, name="sound"))
    await look(home, HOUR)
    for job in (broken, sound):
        await run(home, job, answer("A limit was hit."))
    await damage(home, broken, "its body is cut off")
    await look(home)
    assert await statuses(home, broken) == ["failed"]
    assert "cannot be read" in ((await latest(home, broken)).error or "")
    assert await statuses(home, sound) == ["failed"]
    assert [text for text in await told(home) if "paused" not in text] == ["A limit was hit."] * 3


async def test_a_zone_that_is_gone_can_be_changed_and_the_job_resumed(home: Home) -> None:
    service = service_over(home.jobs(), Bus(home.journal()), home.clock)
    editor = JobEditor(home.jobs(), home.clock, "UTC", service.announce)
    person = Requester(role=Role.OWNER, sender_id="1001", address=CHAT, session_key="fake:1")
    job = await add(home, plan(home, "30 * * * *"))
    await damage(home, job, "its zone is gone")
    home.clock.advance(HOUR)
    await service.fire()
    with pytest.raises(UsageError, match="no zone"):
        await editor.resume(person, "look")
    await editor.edit(person, "look", JobRequest(zone="Europe/Athens"))
    resumed = await editor.resume(person, "look")
    assert (resumed.state, resumed.reason) == ("active", "")
    cut = await add(home, plan(home, name="cut"))
    await damage(home, cut, "its body is cut off")
    home.clock.advance(HOUR)
    await service.fire()
    for change in (editor.resume(person, "cut"), editor.edit(person, "cut", JobRequest(text="x"))):
        with pytest.raises(UsageError, match="cannot be read: remove it"):
            await change
    assert (await editor.remove(person, "cut")).state == "removed"


async def test_many_jobs_of_one_owner_are_told_of_in_one_message(home: Home) -> None:
    await hears(home, CHAT, "1001")
    for number in range(15):
        job = await add(home, plan(home, "30 * * * *", name=f"job {number}"))
        await damage(home, job, "its zone is gone")
    await look(home, HOUR)
    (text,) = await told(home)
    assert text.startswith("The jobs #")
    assert "and 5 more were paused" in text


@pytest.mark.process
@in_memory
async def test_of_many_jobs_only_some_are_done_before_others_may_use_the_store(home: Home) -> None:
    now = home.clock.now()
    for number in range(450):
        await home.jobs().add(plan(home, name=f"job {number}"), now + HOUR, "", 1_000)
    home.clock.advance(HOUR)
    begun = []
    while True:
        before = await home.column("SELECT count(*) FROM occurrences")
        fired = await home.jobs().fire()
        begun.append((await home.column("SELECT count(*) FROM occurrences"))[0] - before[0])
        if not fired.more:
            break
    assert sum(begun) == 450
    assert max(begun) <= 50
    for job_id in range(1, 451):
        claim = await home.journal().claim(f"cron:{job_id}", f"run-{job_id}", "UTC")
        assert claim is not None
        await home.journal().finish(claim.lane, claim.run, FAILED)
    # One that ended is settled without a look at the others.
    await home.jobs().settle(["cron:7"])
    assert await home.column("SELECT job_id FROM occurrences WHERE status != 'running'") == [7]
    position, pieces = None, 0
    while True:
        _, position = await home.jobs().sweep(position)
        pieces += 1
        if position is None:
            break
    assert pieces >= 3
    assert await home.column("SELECT DISTINCT status FROM occurrences") == ["failed"]


async def refused(home: Home, chat: Address = CHAT) -> None:
    """The platform says that the bot was thrown out there."""
    message = OutboundMessage(address=chat, text="Are you there?", key=f"probe {chat}")
    await home.journal().post(str(chat), message)
    row = await home.journal().next_outbound(chat)
    assert row is not None
    await home.journal().bury(row, "Forbidden: bot was kicked", scope="chat")


@pytest.mark.parametrize("send", [True, False])
async def test_a_job_of_a_chat_that_threw_the_bot_out_is_paused_and_its_owner_told_elsewhere(
    home: Home, *, send: bool
) -> None:
    group, private = Address("fake", "-7"), Address("fake", "1001")
    await hears(home, private, "1001", Role.MEMBER)
    await hears(home, CHAT, "1", Role.OWNER)
    job = await add(home, plan(home, send=send, address=group, session_key="fake:-7"))
    other = await add(home, plan(home, name="other", send=True, text="Stretch!"))
    await refused(home, group)
    for _ in range(3):
        home.clock.advance(HOUR)
        assert f"cron:{job.id}" not in (await look(home)).wakes
    paused = await home.jobs().find(str(job.id))
    assert (paused.state, paused.next_at) == ("paused", None)
    assert "fake:-7 cannot be reached (Forbidden: bot was kicked)" in paused.reason
    assert await statuses(home, job) == ["skipped"]
    assert await statuses(home, other) == ["done"] * 3
    (text,) = await told(home, private)
    assert "was paused: fake:-7 cannot be reached" in text
    service = service_over(home.jobs(), Bus(home.journal()), home.clock)
    person = Requester(role=Role.MEMBER, sender_id="1001", address=private, session_key="fake:1001")
    await JobEditor(home.jobs(), home.clock, "UTC", service.announce).resume(person, str(job.id))
    await look(home, HOUR)
    assert (await statuses(home, job))[-1] == ("done" if send else "running")


async def test_an_owner_whose_only_chat_is_gone_is_spoken_for_by_the_gateways_owner(
    home: Home,
) -> None:
    group = Address("fake", "-7")
    await hears(home, group, "1001", Role.MEMBER)
    await hears(home, CHAT, "1", Role.OWNER)
    await add(home, plan(home, address=group, session_key="fake:-7"))
    await refused(home, group)
    await look(home, HOUR)
    assert ["was paused" in text for text in await told(home)] == [True]


async def test_what_a_trigger_publishes_for_a_chat_that_is_gone_is_noted_and_not_paid_for(
    home: Home,
) -> None:
    hook = plan(home, name="hook:ci", overlap="queue")
    publisher = service_over(home.jobs(), Bus(home.journal()), home.clock).publisher(hook)
    await refused(home)
    assert await publisher.publish("Build 1 failed.", key="1") == "taken"
    job = await home.jobs().find("hook:ci")
    assert await statuses(home, job) == ["skipped"]
    assert "cannot be reached" in ((await latest(home, job)).error or "")
    await hears(home, CHAT, "1")
    assert await publisher.publish("Build 2 failed.", key="2") == "taken"
    assert await statuses(home, job) == ["skipped", "running"]


@pytest.mark.parametrize("how", DAMAGES)
async def test_a_damaged_row_does_not_stop_a_trigger_that_the_configuration_describes(
    home: Home, how: str
) -> None:
    hook = plan(home, name="hook:ci", overlap="queue")
    publisher = service_over(home.jobs(), Bus(home.journal()), home.clock).publisher(hook)
    assert await publisher.publish("Build 1 failed.", key="1") == "taken"
    job = await home.jobs().find("hook:ci")
    await damage(home, job, how)
    await look(home)
    assert await publisher.publish("Build 2 failed.", key="2") == "taken"
    assert await statuses(home, job) == ["running", "running"]


@on_sqlite
async def test_what_is_open_of_a_job_is_found_by_its_index_however_often_it_has_fired(
    home: Home,
) -> None:
    def plan_of_query(connection: sa.Connection) -> str:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        statements: list[str] = []
        driver.set_trace_callback(statements.append)
        open_of(connection, 1)
        driver.set_trace_callback(None)
        return str(driver.execute(f"EXPLAIN QUERY PLAN {statements[-1]}").fetchall())

    assert "occurrences_open" in await home.do(plan_of_query)


async def test_each_job_is_realigned_however_many_there_are(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_LOOKED_AT", 2)
    ahead = 300 * 86_400.0
    home.clock.advance(ahead)
    for number in range(5):
        await add(home, plan(home, send=True, name=f"look{number}"))
    home.clock.advance(-ahead)
    after: int | None = 0
    while after is not None:
        after = await home.jobs().realign(after)
    due = await home.column("SELECT next_due FROM jobs")
    assert len(due) == 5
    assert max(due) <= home.clock.now() + HOUR


async def test_all_that_ended_long_ago_is_forgotten_at_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_store, "_AT_ONCE", 1)
    for number in range(3):
        await add(home, plan(home, "+20m", send=True, name=f"look{number}"))
    await look(home, HOUR)
    home.clock.advance(KEPT_SECONDS + HOUR)
    after: int | None = 0
    while after is not None:
        after = await home.jobs().prune(after)
    assert await home.column("SELECT id FROM jobs") == []
