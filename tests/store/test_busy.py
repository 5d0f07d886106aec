"""Messages that come while a run goes on: held back, joined, or ending it; and groups."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.session.entries import CancelEntry, ReplyEntry, UserEntry
from nanobot.session.inbox import Admission, Admitted, Busy
from nanobot.session.journal import Journal
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import BEN, CHAT, KEY, asked, begun, claim, let_in, said

COLLECT = Busy(mode="collect", collect_seconds=2.0)
INTERRUPT = Busy(mode="interrupt")


async def admit(journal: Journal, busy: Busy, *admissions: Admission) -> list[Admitted]:
    return await journal.admit("telegram", admissions, None, 50, busy)


@pytest.mark.parametrize("seconds", [2.0, 10.5, 30.0, 60.0])
async def test_a_burst_is_held_as_long_as_the_configuration_says(
    home: Home, seconds: float, journal: SqlJournal
) -> None:
    claimed = await begun(journal, "r1")
    busy = Busy(mode="collect", collect_seconds=seconds)
    await admit(journal, busy, let_in(said("one")))
    await journal.finish(claimed.lane, claimed.run, Ending(state=RunState.COMPLETED))
    assert await journal.claim(KEY, "r2", "UTC") is None
    home.clock.advance(seconds - 0.5)
    assert await journal.claim(KEY, "r2", "UTC") is None
    await admit(journal, busy, let_in(said("two")))
    home.clock.advance(0.5)
    joined = await claim(journal, "r2")
    texts = [e.body.text for e in joined.entries if isinstance(e.body, UserEntry)]
    assert texts[-2:] == ["one", "two"]


async def test_collect_holds_nothing_while_nothing_runs(journal: SqlJournal) -> None:
    (done,) = await admit(journal, COLLECT, let_in(said("hello")))
    assert done.held == 0.0
    assert (await claim(journal, "r1")).run.id == "r1"


async def test_a_burst_during_a_run_is_held_and_then_answered_as_one(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal, "r1")
    held = await admit(journal, COLLECT, let_in(said("one")), let_in(said("two")))
    assert [done.held for done in held] == [2.0, 2.0]
    await journal.finish(claimed.lane, claimed.run, Ending(state=RunState.COMPLETED))
    assert await journal.claim(KEY, "r2", "UTC") is None
    home.clock.advance(2.0)
    joined = await claim(journal, "r2")
    texts = [e.body.text for e in joined.entries if isinstance(e.body, UserEntry)]
    assert texts[-2:] == ["one", "two"]


async def test_a_burst_without_end_is_answered_after_ten_seconds(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal, "r1")
    for second in range(12):
        await admit(journal, COLLECT, let_in(said(f"m{second}")))
        home.clock.advance(1.0)
    await journal.finish(claimed.lane, claimed.run, Ending(state=RunState.COMPLETED))
    assert (await claim(journal, "r2")).run.id == "r2"


async def test_the_parts_of_an_album_wait_for_each_other(home: Home, journal: SqlJournal) -> None:
    parts = [msgspec.structs.replace(said(text), group_id="album") for text in ("a", "b")]
    (first,) = await admit(journal, Busy(), let_in(parts[0]))
    assert first.held == 0.7
    (lane,) = await journal.ready()
    assert 0 < lane.held < 0.71
    assert 0 < await journal.held(KEY) < 0.71
    assert await journal.claim(KEY, "r1", "UTC") is None
    home.clock.advance(0.5)
    await admit(journal, Busy(), let_in(parts[1]))
    home.clock.advance(0.3)
    assert await journal.claim(KEY, "r1", "UTC") is None
    home.clock.advance(0.5)
    joined = await claim(journal, "r1")
    assert [e.body.text for e in joined.entries if isinstance(e.body, UserEntry)] == ["a", "b"]


async def test_interrupting_ends_the_senders_own_run_silently_and_keeps_what_it_said(
    journal: SqlJournal,
) -> None:
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)
    partial = ReplyEntry(call=1, text="I was about to", partial=True)
    new = msgspec.structs.replace(let_in(said("no, wait")), said=partial)
    (done,) = await admit(journal, INTERRUPT, new)
    assert done.stopped is not None
    assert done.stopped.id == "r1"
    assert done.owes is None
    assert await journal.next_outbound(CHAT) is None
    following = await claim(journal, "r2")
    kinds = [type(entry.body) for entry in following.entries]
    assert kinds[-3:] == [ReplyEntry, CancelEntry, UserEntry]


async def test_somebody_else_does_not_interrupt(home: Home, journal: SqlJournal) -> None:
    await begun(journal, "r1")
    (done,) = await admit(journal, INTERRUPT, let_in(said("me too", BEN)))
    assert done.stopped is None
    assert await home.rows("SELECT state FROM runs") == [("preparing",)]
