"""An order to stop: the run aborted, its driver fenced, what waited settled, the log kept."""

from __future__ import annotations

from nanobot.session.entries import CancelEntry, ReplyEntry, UserEntry
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import (
    ANN,
    BEN,
    CHAT,
    KEY,
    admit,
    asked,
    begun,
    claim,
    following,
    said,
    stop_order,
)


async def waiting(home: Home) -> list[str]:
    """What is still to be answered."""
    query = "SELECT dedupe_key FROM inbound WHERE state != 'settled' ORDER BY id"
    return await home.column(query)


async def test_it_ends_the_senders_run_and_keeps_all_it_wrote(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)
    partial = ReplyEntry(call=1, text="I was about to", partial=True)
    (done,) = await admit(journal, stop_order(bodies=(partial,)))
    assert done.stopped is not None
    assert (done.stopped.id, done.owes) == ("r1", CHAT)
    assert await home.rows("SELECT state, error FROM runs") == [("aborted", "stopped")]
    bodies = await home.bodies(KEY)
    assert isinstance(bodies[0], UserEntry)
    assert bodies[-2:] == [partial, CancelEntry(by=ANN)]


async def test_what_the_run_answered_and_what_waited_behind_it_is_settled(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await admit(journal, said("steered"))
    await journal.take_pending(claimed.lane, claimed.run, "UTC")
    await admit(journal, said("waits"))
    await admit(journal, stop_order())
    assert await waiting(home) == []


async def test_what_comes_after_it_is_answered(home: Home, journal: SqlJournal) -> None:
    await begun(journal, "r1")
    await admit(journal, said("before"), stop_order(), said("after"))
    assert await waiting(home) == ["after"]
    assert (await claim(journal, "r2")).run.id == "r2"


async def test_its_notice_is_owed_exactly_once(home: Home, journal: SqlJournal) -> None:
    await begun(journal)
    await admit(journal, stop_order(), stop_order())
    await admit(journal, stop_order())
    row = await following(journal)
    assert row.message.text == "Stopped."
    assert await home.column("SELECT count(*) FROM outbound") == [1]


async def test_of_others_it_reaches_nothing(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await admit(journal, said("bens", BEN), said("anns"), stop_order(BEN))
    assert await waiting(home) == [f"for run in {KEY}", "anns"]
    await asked(journal, claimed)


async def test_what_the_sender_had_waiting_is_dropped_though_anothers_run_goes_on(
    home: Home, journal: SqlJournal
) -> None:
    await begun(journal)
    await admit(journal, said("bens", BEN))
    (done,) = await admit(journal, stop_order(BEN))
    assert (done.stopped, done.owes) == (None, CHAT)
    assert await waiting(home) == [f"for run in {KEY}"]
    assert (await home.column("SELECT count(*) FROM outbound")) == [1]


async def test_an_owners_reaches_everybody(home: Home, journal: SqlJournal) -> None:
    await begun(journal, "r1")
    await admit(journal, said("anns"), said("bens", BEN))
    (done,) = await admit(journal, stop_order("owner", everyone=True))
    assert done.stopped is not None
    assert done.stopped.id == "r1"
    assert await waiting(home) == []


async def test_with_nothing_running_it_settles_and_answers_all_the_same(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("a"), said("b", BEN))
    (done,) = await admit(journal, stop_order())
    assert (done.stopped, done.owes) == (None, CHAT)
    assert await waiting(home) == ["b"]
    assert await home.bodies(KEY) == []


async def test_in_a_session_of_its_own_it_is_answered(home: Home) -> None:
    (done,) = await admit(home.journal(), stop_order())
    assert (done.fresh, done.stopped, done.owes) == (True, None, CHAT)


async def test_a_run_that_a_crash_left_behind_is_stopped_too(home: Home) -> None:
    await begun(home.doomed(), "r1")
    await home.reopen()
    (done,) = await admit(home.journal(), stop_order())
    assert done.stopped is not None
    assert await home.column("SELECT state FROM runs") == [RunState.ABORTED]
    assert await home.journal().ready() == []


async def test_a_stop_with_something_broken_in_its_batch_stops_nothing(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    before = await home.everything()
    try:
        await admit(journal, stop_order(), said("\ud800"))
    except UnicodeEncodeError:
        assert await home.everything() == before
    await asked(journal, claimed)
