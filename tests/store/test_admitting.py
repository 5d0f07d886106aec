"""Journal.admit: messages are taken in once each, with their channel's cursor, or not at all."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.errors import Fenced
from nanobot.messages import Address, Origin, Role
from nanobot.session.entries import UserEntry
from nanobot.session.inbox import Admission
from nanobot.session.runs import Claim, Ending
from nanobot.session.states import RunKind, RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home, in_memory
from tests.store.making import (
    ANN,
    BEN,
    CHAT,
    KEY,
    admit,
    begun,
    claim,
    following,
    let_in,
    said,
    told,
)
from tests.stored import choosing


async def test_a_message_is_waiting_once_it_was_let_in(journal: SqlJournal) -> None:
    (admitted,) = await admit(journal, said("hello"))
    assert (admitted.fresh, admitted.session_key, admitted.kind) == (True, KEY, RunKind.CHAT)
    assert (admitted.refused, admitted.owes, admitted.stopped) == (False, None, None)
    row = await journal.session(KEY)
    assert row is not None
    assert (row.title, row.waiting, row.entries, row.run) == ("hello", 1, 0, None)


async def test_the_same_message_again_changes_nothing(home: Home, journal: SqlJournal) -> None:
    await admit(journal, said("hello"))
    before = await home.everything()
    (again,) = await admit(journal, said("hello"))
    assert not again.fresh
    assert await home.everything() == before


async def test_the_same_message_twice_in_one_batch_is_taken_once(home: Home) -> None:
    done = await admit(home.journal(), said("a"), said("b"), said("a"))
    assert [admitted.fresh for admitted in done] == [True, True, False]
    assert await home.column("SELECT dedupe_key FROM inbound ORDER BY id") == ["a", "b"]


async def test_a_message_is_known_after_reopening(home: Home) -> None:
    await admit(home.journal(), said("hello"))
    await home.reopen()
    (again,) = await admit(home.journal(), said("hello"))
    assert not again.fresh


async def test_a_message_is_known_after_its_run_has_ended(journal: SqlJournal) -> None:
    await admit(journal, said("hello"))
    claimed = await claim(journal)
    await journal.finish(claimed.lane, claimed.run, Ending(state=RunState.COMPLETED))
    (again,) = await admit(journal, said("hello"))
    assert not again.fresh


async def test_an_equal_key_in_another_chat_or_channel_is_another_message(home: Home) -> None:
    done = await admit(
        home.journal(),
        said("x", address=Address("telegram", "7")),
        said("x", address=Address("telegram", "8")),
        said("x", address=Address("slack", "7")),
    )
    assert [admitted.fresh for admitted in done] == [True, True, True]


async def test_the_thread_does_not_make_a_message_another_one(home: Home) -> None:
    done = await admit(
        home.journal(),
        said("x", address=Address("telegram", "7", "1")),
        said("x", address=Address("telegram", "7", "2")),
    )
    assert [admitted.fresh for admitted in done] == [True, False]


async def test_an_answer_to_a_message_known_already_is_not_owed_again(journal: SqlJournal) -> None:
    await admit(journal, said("/help"))
    order = Admission(
        message=said("/help"), session_key=KEY, role=Role.MEMBER, answer=told("Help.", "help")
    )
    (again,) = await admit(journal, order)
    assert (again.fresh, again.owes) == (False, None)
    assert await journal.next_outbound(CHAT) is None


async def test_a_channel_has_no_cursor_at_first_and_each_has_its_own(home: Home) -> None:
    journal = home.journal()
    assert await journal.cursor("telegram") is None
    await admit(journal, cursor="10")
    await admit(journal, channel="slack", cursor="ts")
    await admit(journal, said("a"), cursor="11")
    await home.reopen()
    assert await home.journal().cursor("telegram") == "11"
    assert await home.journal().cursor("slack") == "ts"


async def test_without_a_new_cursor_the_old_one_stays(journal: SqlJournal) -> None:
    await admit(journal, cursor="10")
    await admit(journal, said("a"), cursor=None)
    assert await journal.cursor("telegram") == "10"


async def test_an_admission_that_fails_moves_nothing_at_all(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("first"), cursor="10")
    before = await home.everything()
    unpaired = said("\ud800")  # no encoding of text can hold it
    with pytest.raises(UnicodeEncodeError):
        await admit(journal, said("second"), unpaired, cursor="11")
    assert await home.everything() == before
    done = await admit(journal, said("second"), cursor="11")
    assert done[0].fresh


async def test_text_with_zero_bytes_is_taken_in_like_any_other(journal: SqlJournal) -> None:
    await admit(journal, said("a\0b", key="1"))
    claimed = await claim(journal)
    (body,) = [entry.body for entry in claimed.entries]
    assert isinstance(body, UserEntry)
    assert body.text == "a\0b"


async def test_past_the_lane_limit_the_sender_is_told_and_nothing_waits(home: Home) -> None:
    journal = home.journal()
    done = await admit(journal, said("a"), said("b"), said("c"), lane_limit=2)
    assert [admitted.refused for admitted in done] == [False, False, True]
    assert done[2].fresh
    assert done[2].owes == CHAT
    row = await following(journal)
    assert "2 are waiting" in row.message.text
    assert row.message.reply_to == "id-c"
    assert await home.column("SELECT state FROM inbound ORDER BY id") == [
        "pending",
        "pending",
        "settled",
    ]


async def test_a_message_refused_once_is_refused_for_good_and_told_once(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("a"), said("b"), lane_limit=1)
    await claim(journal)
    (again,) = await admit(journal, said("b"), lane_limit=1)
    assert not again.fresh
    assert await home.column("SELECT count(*) FROM outbound") == [1]


async def test_what_a_run_has_taken_does_not_count_against_the_limit(journal: SqlJournal) -> None:
    await admit(journal, said("a"), said("b"), lane_limit=2)
    await claim(journal)
    (admitted,) = await admit(journal, said("c"), lane_limit=2)
    assert not admitted.refused


async def test_the_limit_is_each_lanes_own(journal: SqlJournal) -> None:
    done = await admit(journal, let_in(said("a"), "s1"), let_in(said("b"), "s2"), lane_limit=1)
    assert [admitted.refused for admitted in done] == [False, False]


async def test_an_answered_message_is_settled_with_its_answer(home: Home) -> None:
    journal = home.journal()
    order = Admission(
        message=said("/help"), session_key=KEY, role=Role.MEMBER, answer=told("Help.", "help")
    )
    (admitted,) = await admit(journal, order)
    assert (admitted.fresh, admitted.owes) == (True, CHAT)
    assert await home.column("SELECT state FROM inbound") == ["settled"]
    row = await following(journal)
    assert row.message.text == "Help."
    assert await journal.claim(KEY, "run", "UTC") is None


async def test_an_answered_message_leaves_the_run_of_its_lane_alone(journal: SqlJournal) -> None:
    claimed = await begun(journal)
    order = Admission(
        message=said("/help"), session_key=KEY, role=Role.MEMBER, answer=told("Help.", "help")
    )
    await admit(journal, order)
    await journal.finish(claimed.lane, claimed.run, Ending(state=RunState.COMPLETED))


@pytest.mark.parametrize("origin", [Origin.USER, Origin.API, Origin.APPROVAL])
async def test_what_people_say_runs_as_chat(home: Home, origin: Origin) -> None:
    (admitted,) = await admit(home.journal(), said("a", origin=origin))
    assert admitted.kind is RunKind.CHAT


@in_memory
@pytest.mark.parametrize("origin", sorted(set(Origin) - {Origin.USER, Origin.API, Origin.APPROVAL}))
async def test_what_happens_by_itself_runs_in_the_background(home: Home, origin: Origin) -> None:
    (admitted,) = await admit(home.journal(), said("a", origin=origin))
    assert admitted.kind is RunKind.TASK


async def test_every_lane_with_something_to_do_is_ready_in_order_of_arrival(home: Home) -> None:
    journal = home.journal()
    await admit(journal, let_in(said("a"), "s1"), let_in(said("b", BEN), "s2"))
    await admit(journal, let_in(said("c", ANN, origin=Origin.CRON), "s3"))
    ready = await journal.ready()
    assert [(lane.session_key, lane.kind, lane.attempts) for lane in ready] == [
        ("s1", RunKind.CHAT, 0),
        ("s2", RunKind.CHAT, 0),
        ("s3", RunKind.TASK, 0),
    ]


async def test_a_lane_that_is_held_is_not_ready_until_it_is_let_go(journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await admit(journal, said("more"))
    assert await journal.ready() == []
    await journal.release(claimed.lane, claimed.run)
    (ready,) = await journal.ready()
    assert (ready.session_key, ready.attempts) == (KEY, 0)


async def test_a_lane_with_nothing_to_do_is_not_ready(journal: SqlJournal, claimed: Claim) -> None:
    await journal.finish(claimed.lane, claimed.run, Ending(state=RunState.COMPLETED))
    assert await journal.ready() == []


async def test_a_lane_left_by_a_process_that_is_gone_is_ready_with_its_attempts(home: Home) -> None:
    await begun(home.doomed())
    (ready,) = await home.journal().ready()
    assert (ready.session_key, ready.kind, ready.attempts) == (KEY, RunKind.CHAT, 1)


async def test_a_session_talks_to_the_model_it_was_given(journal: SqlJournal) -> None:
    await choosing(journal).set_model(KEY, "p/m")
    claimed = await begun(journal)
    assert claimed.model == "p/m"
    await choosing(journal).set_model(KEY, None)
    row = await journal.session(KEY)
    assert row is not None
    assert row.model is None


async def test_there_is_no_session_before_anybody_spoke(home: Home) -> None:
    assert await home.journal().session("nobody") is None
    assert await home.journal().claim("nobody", "run", "UTC") is None


async def test_a_verb_on_a_lane_of_no_session_is_fenced(home: Home) -> None:
    claimed = await begun(home.journal())
    await home.execute("UPDATE sessions SET key = 'other'")
    await home.execute("DELETE FROM entries")
    home.damaged = frozenset({"other"})
    with pytest.raises(Fenced):
        await home.journal().release(claimed.lane, claimed.run)


async def test_another_account_of_a_channel_counts_its_messages_for_itself(home: Home) -> None:
    journal = home.journal()
    (first,) = await admit(journal, said("before it said who it is", key="1"), cursor="10")
    await journal.account("telegram", "bot A")
    assert await journal.cursor("telegram") == "10"
    (known,) = await admit(journal, said("brought again", key="1"))
    await journal.account("telegram", "bot B")
    assert await journal.cursor("telegram") is None
    (other,) = await admit(journal, said("of another bot", key="1"), cursor="3")
    (twice,) = await admit(journal, said("brought again", key="1"))
    assert [admitted.fresh for admitted in (first, known, other, twice)] == [
        True,
        False,
        True,
        False,
    ]
    await journal.account("telegram", "bot A")
    assert await journal.cursor("telegram") == "10"
    (known,) = await admit(journal, said("brought again", key="1"))
    assert not known.fresh


async def test_a_command_to_another_account_is_answered_though_its_number_is_known(
    home: Home, journal: SqlJournal
) -> None:
    for bot in ("A", "B"):
        await journal.account("telegram", bot)
        admission = let_in(said("/status", key="1"))
        answer = told(f"all is well, {bot}", "command:1")
        await admit(journal, msgspec.structs.replace(admission, answer=answer))
    rows = await home.column("SELECT body FROM outbound ORDER BY id")
    assert [msgspec.json.decode(row)["text"] for row in rows] == [
        "all is well, A",
        "all is well, B",
    ]


async def test_what_comes_of_the_gateway_itself_is_the_same_for_every_account(home: Home) -> None:
    journal = home.journal()
    due = said("due", key="cron:1", origin=Origin.CRON)
    for bot in ("A", "B"):
        await journal.account("telegram", bot)
        await admit(journal, due)
    assert await home.column("SELECT count(*) FROM inbound") == [1]
