"""Background runs as every store keeps them: started once, claimed in time, reported once."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.errors import Fenced, ToolError
from nanobot.messages import Address, OutboundKind, OutboundMessage, Role, RunOptions
from nanobot.plugins.common.runs.background_runs import NewTask, Parent, Report, TaskRequest
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.tasks.port import MAX_OF_SESSION
from nanobot.plugins.tasks.store.tasks import SqlTasks
from nanobot.session.entries import UserEntry
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.records import SqlRecords
from nanobot.store.unit import StoreContext
from tests.store.home import LEASE_SECONDS, Home
from tests.store.making import ANN, CHAT, KEY
from tests.stored import lists_of, log_of, marks_of, outbox_of, runs_of


class Desk:
    """One process over a store."""

    def __init__(self, home: Home) -> None:
        lease = LEASE_SECONDS if home.shared else None
        writer = StoreContext(home.clock, home.ids, "us", lease, store_hooks())
        self.journal = SqlJournal(home.database, writer)
        self.tasks = SqlTasks(home.database, writer)
        self.records = SqlRecords(home.database, writer)

    async def end(self, run_id: str, state: RunState = RunState.COMPLETED) -> None:
        claim = await self.journal.claim(f"task:{run_id}", "unused", "UTC")
        assert claim is not None
        assert claim.run.id == run_id
        reply = OutboundMessage(
            address=CHAT, text="42", key=claim.run.reply_key, kind=OutboundKind.REPLY, direct=True
        )
        await self.journal.finish(claim.lane, claim.run, Ending(state=state, outbound=(reply,)))


@pytest.fixture
def desk(home: Home) -> Desk:
    return Desk(home)


def task(
    key: str = "k", *, report: Report = "post", orphan: bool = False, delay: float = 0.0
) -> NewTask:
    by = Parent(session_key=KEY, run_id="", address=CHAT, sender_id=ANN, role=Role.MEMBER)
    request = TaskRequest(
        type="say", title="Say it", input={}, key=key, parent=None if orphan else by
    )
    options = RunOptions(direct=True, type="say")
    return NewTask(request=request, text="say it", options=options, report=report, delay=delay)


async def test_a_run_is_kept_once_by_its_key(desk: Desk) -> None:
    first = await desk.tasks.create(task())
    assert await desk.tasks.create(task()) == first
    assert [lane.session_key for lane in await desk.journal.ready()] == [f"task:{first}"]
    run = await runs_of(desk.records).run(first)
    assert run is not None
    assert (run.state, run.type, run.title) == (RunState.QUEUED, "say", "Say it")


async def test_a_post_is_owed_by_the_transaction_that_ends_the_run(desk: Desk) -> None:
    await desk.end(await desk.tasks.create(task()))
    (owed,) = await outbox_of(desk.records).listed(state="pending", limit=9)
    assert (owed.text, owed.session_key) == ("Task completed: Say it\n\n42", KEY)
    assert [entry.kind for entry in await log_of(desk.records).entries(KEY, after=0, limit=9)] == [
        "post"
    ]


async def test_a_follow_up_waits_in_the_lane_of_the_parent(desk: Desk) -> None:
    run_id = await desk.tasks.create(task(report="follow_up"))
    await desk.end(run_id, RunState.FAILED)
    claim = await desk.journal.claim(KEY, "next", "UTC")
    assert claim is not None
    assert (claim.run.role, claim.run.sender_id) == (Role.MEMBER, ANN)
    (report,) = [entry.body for entry in claim.entries]
    assert isinstance(report, UserEntry)
    assert report.text == f"[background run {run_id}] Task failed: Say it\n\n42"
    assert await outbox_of(desk.records).listed(state="pending", limit=9) == []


async def test_what_is_cancelled_before_it_began_is_told_once(desk: Desk) -> None:
    run_id = await desk.tasks.create(task(report="follow_up"))
    ending = Ending(state=RunState.ABORTED, error="cancelled")
    assert await desk.records.cancel(run_id, ending, "ann") is not None
    assert await desk.records.cancel(run_id, ending, "ann") is None
    texts = [row.text for row in await outbox_of(desk.records).listed(state="", limit=9)]
    assert texts == ["Task cancelled: Say it"]


async def test_a_driver_that_lost_the_lane_reports_nothing(desk: Desk) -> None:
    run_id = await desk.tasks.create(task())
    claim = await desk.journal.claim(f"task:{run_id}", "unused", "UTC")
    assert claim is not None
    ending = Ending(state=RunState.ABORTED, error="cancelled")
    assert await desk.records.cancel(run_id, ending, "ann") is not None
    with pytest.raises(Fenced):
        await desk.journal.finish(claim.lane, claim.run, Ending(state=RunState.COMPLETED))
    assert len(await outbox_of(desk.records).listed(state="", limit=9)) == 1


async def test_a_run_of_nobody_becomes_an_unread_conversation(desk: Desk) -> None:
    run_id = await desk.tasks.create(task(orphan=True))
    await desk.end(run_id)
    (session,) = await lists_of(desk.records).newest(limit=9, unread=True)
    assert (session.key, session.title) == (f"task:{run_id}", "Task completed: Say it")


async def test_a_report_of_nobodys_run_waits_for_a_terminal_until_it_was_read(desk: Desk) -> None:
    run_id = await desk.tasks.create(task(orphan=True))
    await desk.end(run_id)
    question = OutboundMessage(
        address=Address("cli", f"task:{run_id}"),
        text="Go on?",
        key="q",
        kind=OutboundKind.APPROVAL,
    )
    await desk.journal.post(f"task:{run_id}", question)
    assert len(await outbox_of(desk.records).listed(state="pending", limit=9)) == 2
    assert await marks_of(desk.records).mark_read(f"task:{run_id}")
    left = await outbox_of(desk.records).listed(state="pending", limit=9)
    assert [row.key for row in left] == ["q"]
    assert await desk.journal.owed_chats("cli") == [Address("cli", f"task:{run_id}")]


async def test_reading_leaves_what_a_platform_is_owed(desk: Desk) -> None:
    message = OutboundMessage(address=Address("telegram", "1"), text="Hi", key="p")
    await desk.journal.post("telegram:1", message)
    assert await marks_of(desk.records).mark_read("telegram:1")
    assert [row.key for row in await outbox_of(desk.records).listed(state="pending", limit=9)] == [
        "p"
    ]


async def test_a_run_is_not_claimed_before_its_time(home: Home, desk: Desk) -> None:
    run_id = await desk.tasks.create(task(delay=50.0))
    key = f"task:{run_id}"
    assert await desk.journal.claim(key, "unused", "UTC") is None
    assert await desk.journal.held(key) == 50.0
    assert [lane.held for lane in await desk.journal.ready()] == [50.0]
    home.clock.advance(50.0)
    await desk.end(run_id)


async def test_there_is_a_limit_for_each_conversation(desk: Desk) -> None:
    run_ids = [await desk.tasks.create(task(f"k{n}")) for n in range(MAX_OF_SESSION)]
    with pytest.raises(ToolError, match="at most"):
        await desk.tasks.create(task("more"))
    assert await desk.records.children(KEY, ANN) == run_ids
    assert await desk.records.children(KEY, "somebody else") == []
    await desk.end(run_ids[0])
    assert await desk.tasks.create(task("more"))


async def test_an_ended_run_can_be_asked_for_again(desk: Desk) -> None:
    run_id = await desk.tasks.create(task())
    again = await desk.tasks.again(run_id)
    assert again is not None
    parent = task().request.parent
    assert parent is not None
    assert (again.type, again.title) == ("say", "Say it")
    assert again.parent == msgspec.structs.replace(parent, again=True)
    assert await desk.tasks.again("unknown") is None
