"""Journal.claim and take_pending: who owns a lane, and which messages its run answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.errors import Fenced, StoreError
from nanobot.messages import Address, Origin, Role, RunOptions
from nanobot.session.entries import Entry, PostEntry, UserEntry
from nanobot.session.runs import Claim, WindowChange
from nanobot.session.states import RunKind, RunState
from nanobot.store.database.database import Work
from nanobot.store.journal import log
from nanobot.store.journal.claiming import MOST_READ
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.unit import StoreContext, Unit
from tests.store.home import Home, in_memory
from tests.store.making import (
    ANN,
    BEN,
    CHAT,
    KEY,
    PROMPT,
    RESULT,
    admit,
    answered,
    asked,
    begun,
    call,
    claim,
    ending,
    prompt,
    reply,
    said,
    told,
)
from tests.stored import consuming

THREAD = Address("telegram", "7", "1")
T = TypeVar("T")


def texts(entries: tuple[Entry, ...]) -> list[str]:
    """What people said, in the order of the log."""
    return [entry.body.text for entry in entries if isinstance(entry.body, UserEntry)]


async def test_a_claim_begins_a_run_over_what_waits(journal: SqlJournal) -> None:
    await admit(journal, said("hello"))
    claimed = await claim(journal, "r1")
    run = claimed.run
    assert (run.id, run.session_key, run.kind, run.state) == (
        "r1",
        KEY,
        RunKind.CHAT,
        RunState.PREPARING,
    )
    assert (run.address, run.sender_id, run.role, run.origin) == (
        CHAT,
        ANN,
        Role.MEMBER,
        Origin.USER,
    )
    assert (run.reply_to, run.first_seq, run.attempts) == ("id-hello", 1, 1)
    assert (claimed.window_from, claimed.prompt, claimed.prompt_variant) == (1, None, None)


async def test_every_message_is_an_entry_of_its_own_with_all_that_is_known_of_it(
    journal: SqlJournal,
) -> None:
    first, second = await admit(journal, said("one"), said("two"))
    claimed = await claim(journal)
    assert [entry.seq for entry in claimed.entries] == [1, 2]
    assert {entry.run_id for entry in claimed.entries} == {"run"}
    assert [entry.body for entry in claimed.entries] == [
        UserEntry(
            text=text,
            address=CHAT,
            sender_id=ANN,
            sender_name="Somebody",
            label="m1",
            role=Role.MEMBER,
            sent_at=1_700_000_000.0,
            zone="Europe/Berlin",
            inbound_id=admitted.inbound_id,
            message_id=f"id-{text}",
        )
        for text, admitted in (("one", first), ("two", second))
    ]


async def test_one_run_answers_a_senders_messages_up_to_the_next_sender(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("a"), said("b"), said("c", BEN), said("d"))
    assert texts((await claim(journal)).entries) == ["a", "b"]


async def test_one_run_answers_messages_of_one_address(journal: SqlJournal) -> None:
    await admit(journal, said("a"), said("b", address=THREAD), said("c"))
    assert texts((await claim(journal)).entries) == ["a"]


async def test_a_new_conversation_begins_behind_what_was_said_before(journal: SqlJournal) -> None:
    await admit(journal, said("a"), said("/new"), said("b"), said("c"))
    for run_id, expected in (("r1", ["a"]), ("r2", ["/new"]), ("r3", ["b", "c"])):
        claimed = await claim(journal, run_id)
        assert texts(claimed.entries)[-len(expected) :] == expected
        assert claimed.run.first_seq == len(claimed.entries) - len(expected) + 1
        await answered(journal, claimed)


@in_memory
@pytest.mark.parametrize("origin", sorted(set(Origin) - {Origin.USER, Origin.APPROVAL}))
async def test_what_is_not_a_persons_message_runs_alone(home: Home, origin: Origin) -> None:
    journal = home.journal()
    await admit(journal, said("a", origin=origin), said("b", origin=origin), said("c"))
    assert texts((await claim(journal)).entries) == ["a"]


async def test_a_persons_run_takes_no_message_that_is_not_a_persons(journal: SqlJournal) -> None:
    await admit(journal, said("a"), said("b", origin=Origin.CRON), said("c"))
    assert texts((await claim(journal)).entries) == ["a"]


async def test_a_lane_that_is_held_cannot_be_claimed(journal: SqlJournal) -> None:
    await begun(journal)
    await admit(journal, said("more"))
    assert await journal.claim(KEY, "other", "UTC") is None


async def test_a_lane_with_nothing_to_do_cannot_be_claimed(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await answered(journal, claimed, "done")
    before = await home.everything()
    assert await journal.claim(KEY, "other", "UTC") is None
    assert await home.everything() == before


async def test_an_unclean_end_counts_as_an_attempt(home: Home) -> None:
    await begun(home.doomed(), "r1")
    second = await claim(home.doomed(), "unused")
    third = await claim(home.journal(), "unused")
    assert [second.run.id, third.run.id] == ["r1", "r1"]
    assert [second.run.attempts, third.run.attempts] == [2, 3]


async def test_a_resumed_run_is_as_it_was_and_its_messages_are_not_taken_twice(home: Home) -> None:
    doomed = home.doomed()
    first = await begun(doomed)
    await asked(doomed, first)
    resumed = await claim(home.journal())
    assert resumed.run.state is RunState.MODEL_RUNNING
    assert len(texts(resumed.entries)) == 1
    assert (resumed.prompt, resumed.prompt_variant) == ("digest", "plain")


async def test_a_claim_after_reopening_finds_the_same_run(home: Home) -> None:
    await begun(home.doomed(), "r1")
    await home.reopen()
    assert (await claim(home.journal())).run.id == "r1"


async def test_a_live_run_goes_before_what_waits(home: Home) -> None:
    doomed = home.doomed()
    await begun(doomed, "r1")
    await admit(doomed, said("more"))
    resumed = await claim(home.journal())
    assert resumed.run.id == "r1"
    assert "more" not in texts(resumed.entries)


async def test_giving_a_run_back_costs_no_attempt(home: Home, journal: SqlJournal) -> None:
    await begun(journal, "r1")
    for _ in range(5):
        await home.reopen()
        journal = home.journal()
        await home.execute("UPDATE sessions SET owner = NULL, lease_until = NULL")
        await home.execute("UPDATE runs SET attempts = 0")
        claimed = await claim(journal)
        assert claimed.run.attempts == 1
        await journal.release(claimed.lane, claimed.run)
    assert (await claim(journal)).run.attempts == 1


async def test_a_run_given_back_can_be_claimed_at_once_by_anybody(home: Home) -> None:
    journal = home.journal()
    first = await begun(journal, "r1")
    await journal.release(first.lane, first.run)
    assert (await claim(home.journal("them"))).run.id == "r1"


@pytest.mark.parametrize("progress", ["record_reply", "record_result", "start_model"])
async def test_progress_makes_earlier_attempts_forgotten(home: Home, progress: str) -> None:
    await begun(home.doomed())
    doomed = home.doomed()
    claimed = await claim(doomed)
    assert claimed.run.attempts == 2
    await asked(doomed, claimed)
    if progress == "record_reply":
        await doomed.record_reply(claimed.lane, claimed.run, reply())
    elif progress == "start_model":
        await doomed.start_model(claimed.lane, claimed.run, [RESULT, call(2)], None)
    else:
        await doomed.record_result(claimed.lane, claimed.run, [RESULT])
    assert (await claim(home.journal())).run.attempts == 2


async def test_a_model_call_alone_is_no_progress(home: Home) -> None:
    doomed = home.doomed()
    await asked(doomed, await begun(doomed))
    assert (await claim(home.journal())).run.attempts == 2


async def test_a_claim_sees_the_log_from_the_window_on(home: Home, journal: SqlJournal) -> None:
    first = await begun(journal, "r1")
    await journal.start_model(first.lane, first.run, [prompt(), call()], PROMPT)
    await answered(journal, first, "one")
    second = await begun(journal, "r2")
    await journal.start_model(
        second.lane, second.run, [prompt("newer"), call(window_from=4, prompt="newer")], PROMPT
    )
    await answered(journal, second, "two")
    third = await begun(journal, "r3")
    assert (third.window_from, third.prompt) == (4, "newer")
    assert third.entries[0].seq == 4
    assert third.entries[-1].seq == third.run.first_seq == await home.verify(KEY)


@pytest.mark.parametrize("texts", [(), ("A new conversation.",)])
async def test_after_a_new_conversation_nothing_older_is_seen(
    texts: tuple[str, ...], journal: SqlJournal
) -> None:
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)
    await journal.finish(claimed.lane, claimed.run, ending(*texts, window=WindowChange()))
    following = await begun(journal, "r2")
    assert [entry.run_id for entry in following.entries] == ["r2"]
    assert (following.prompt, following.prompt_variant) == (None, None)


async def test_steering_takes_what_the_runs_own_sender_says_meanwhile(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await admit(
        journal,
        said("mine"),
        said("bens", BEN),
        said("elsewhere", address=THREAD),
        said("by itself", origin=Origin.CRON),
        said("mine too"),
    )
    taken = await journal.take_pending(claimed.lane, claimed.run, "UTC")
    assert texts(taken) == ["mine", "mine too"]
    assert all(isinstance(entry.body, UserEntry) and entry.body.steered for entry in taken)
    assert [entry.seq for entry in taken] == [2, 3]
    waiting = "SELECT dedupe_key FROM inbound WHERE state = 'pending' ORDER BY id"
    assert await home.column(waiting) == ["bens", "elsewhere", "by itself"]


async def test_steering_stops_at_the_senders_own_new_conversation(journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await admit(journal, said("a"), said("/new", BEN, key="bens"), said("b"))
    await admit(journal, said("/new"), said("c"))
    taken = await journal.take_pending(claimed.lane, claimed.run, "UTC")
    assert texts(taken) == ["a", "b"]


async def test_steering_with_nothing_waiting_gives_nothing(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    before = await home.everything()
    assert await journal.take_pending(claimed.lane, claimed.run, "UTC") == ()
    assert await home.everything() == before


async def test_what_was_steered_in_is_settled_with_the_run(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await admit(journal, said("more"))
    await journal.take_pending(claimed.lane, claimed.run, "UTC")
    assert not await answered(journal, claimed, "both")
    assert await home.column("SELECT DISTINCT state FROM inbound") == ["settled"]


async def test_what_was_steered_in_stays_with_the_run_over_a_crash(home: Home) -> None:
    doomed = home.doomed()
    claimed = await begun(doomed, "r1")
    await admit(doomed, said("more"))
    await doomed.take_pending(claimed.lane, claimed.run, "UTC")
    resumed = await claim(home.journal())
    assert (resumed.run.id, texts(resumed.entries)[-1]) == ("r1", "more")


async def test_a_post_into_a_lane_that_runs_disturbs_nobody(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await journal.post(KEY, told("By the way.", "post-1"))
    await asked(journal, claimed)
    await answered(journal, claimed, "done")
    assert await home.verify(KEY) == 5


async def test_the_newest_claim_fences_those_before_it(home: Home) -> None:
    claims: list[Claim] = [await begun(home.doomed())]
    claims += [await claim(home.doomed()) for _ in range(3)]
    tokens = [claimed.lane.token for claimed in claims]
    assert tokens == sorted(set(tokens))
    for old in claims[:-1]:
        with pytest.raises(Fenced):
            await home.doomed().release(old.lane, old.run)
    await home.journal().release(claims[-1].lane, claims[-1].run)


async def cancelled(call: Coroutine[object, object, object]) -> None:
    """A caller who gives up as soon as the store has been asked."""
    task = asyncio.create_task(call)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_lane_whose_claimer_was_cancelled_is_free(home: Home, journal: SqlJournal) -> None:
    await admit(journal, said("hello"))
    await cancelled(journal.claim(KEY, "r1", "UTC"))
    assert [lane.session_key for lane in await journal.ready()] == [KEY]
    claimed = await claim(journal, "r2")
    await answered(journal, claimed, "hi")
    assert await home.column("SELECT count(*) FROM runs WHERE state = 'completed'") == [1]


async def test_a_lane_whose_consumer_was_cancelled_is_free(journal: SqlJournal) -> None:
    await admit(journal, said("hello"))
    await cancelled(consuming(journal).take_inbound(None))
    taken = await consuming(journal).take_inbound(None)
    assert taken is not None
    assert taken.message.text == "hello"


async def test_a_lane_that_its_driver_let_go_of_is_free_to_us_at_once(journal: SqlJournal) -> None:
    lost = await begun(journal, "r1")
    assert await journal.claim(KEY, "x", "UTC") is None
    journal.let_go(lost.lane)
    resumed = await claim(journal, "x")
    assert (resumed.run.id, resumed.run.attempts) == ("r1", 2)
    with pytest.raises(Fenced):
        await asked(journal, lost)
    journal.let_go(lost.lane)  # late: it is in other hands by now
    assert await journal.claim(KEY, "x", "UTC") is None


async def test_a_lane_claimed_by_a_commit_that_reported_a_failure_is_free(home: Home) -> None:
    class Reporting:
        """A database whose commits take place and are said to have failed."""

        dialect = home.database.dialect
        failing = True

        async def transact(self, work: Work[T], verb: str = "") -> T:
            result = await home.database.transact(work, verb)
            if verb == "claim" and self.failing:
                raise StoreError("the connection was lost")
            return result

        async def close(self) -> None:
            """Not used."""

    database = Reporting()
    journal = home.journal(database=database)
    await admit(journal, said("hello"))
    with pytest.raises(StoreError):
        await journal.claim(KEY, "r1", "UTC")
    database.failing = False
    assert (await claim(journal, "x")).run.id == "r1"


async def test_a_claim_reads_nothing_of_what_its_job_said_at_earlier_times(home: Home) -> None:
    journal = home.journal()
    for number in range(3):
        due = said(f"time {number}", origin=Origin.CRON)
        await admit(journal, msgspec.structs.replace(due, options=RunOptions(history=())))
        claimed = await claim(journal, f"r{number}")
        assert texts(claimed.entries) == [f"time {number}"]
        await asked(journal, claimed)
        journal.let_go(claimed.lane)
        resumed = await claim(journal, "x")
        assert [entry.seq for entry in resumed.entries] == [
            claimed.run.first_seq + place for place in range(3)
        ]
        await answered(journal, resumed, "done")
    await admit(journal, said("and what was that?"))
    assert texts((await claim(journal, "r")).entries) == [
        "time 0",
        "time 1",
        "time 2",
        "and what was that?",
    ]


@pytest.mark.process
async def test_a_conversation_of_posts_alone_is_read_as_far_as_any_model_could_see(
    new_home: Home,
) -> None:
    journal = new_home.journal()
    await admit(journal, said("hello"))
    await answered(journal, await claim(journal, "r1"), "hi")

    def posted(connection: sa.Connection) -> None:
        lane = log.lane_of(connection, KEY)
        posts = [PostEntry(text="news", key=f"p{n}") for n in range(2 * MOST_READ)]
        writer = StoreContext(new_home.clock, new_home.ids, "us")
        log.append(Unit(connection, writer), lane, "", posts)

    await new_home.do(posted)
    await admit(journal, said("what is new?"))
    claimed = await claim(journal, "r2")
    assert claimed.window_from == claimed.run.first_seq - MOST_READ
    assert [entry.seq for entry in claimed.entries][:1] == [claimed.window_from]
    assert len(claimed.entries) == MOST_READ + 1
    row = await journal.session(KEY)
    assert row is not None
    assert row.window_from == claimed.window_from


async def test_that_several_people_read_somewhere_is_known_also_to_runs_that_see_nothing_of_it(
    journal: SqlJournal,
) -> None:
    await admit(journal, msgspec.structs.replace(said("hello"), group=True))
    claimed = await claim(journal, "r1")
    assert claimed.shared
    await answered(journal, claimed, "hi")
    asks = said("of a program", origin=Origin.API)
    await admit(journal, msgspec.structs.replace(asks, options=RunOptions(history=())))
    assert (await claim(journal, "r2")).shared


async def test_a_lane_leased_before_the_clock_was_set_back_is_free(home: Home) -> None:
    first = await begun(home.doomed(), "r1")
    await home.execute("UPDATE sessions SET lease_until = lease_until + 86400")
    taken = await claim(home.journal("them"))
    assert taken.run.id == "r1"
    assert taken.lane.token > first.lane.token
