"""What people and programs read of a store, and the little they change, on every kind of it."""

from __future__ import annotations

import pytest

from nanobot.errors import Fenced, UsageError
from nanobot.plugins.common.store.counts import Counts
from nanobot.session.entries import CancelEntry
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from tests.store.home import Home
from tests.store.making import CHAT, KEY, admit, asked, begun, following, said, told
from tests.stored import counts_of, lists_of, log_of, marks_of, outbox_of, runs_of

CANCELLED = Ending(
    state=RunState.ABORTED, outbound=(told("Cancelled.", "r1:stopped"),), error="cancelled"
)


async def test_an_empty_store_reads_as_empty(home: Home) -> None:
    records = home.records()
    assert await counts_of(records).counts() == Counts(
        sessions=0, waiting=0, asked=0, owed=0, dead=0
    )
    assert await lists_of(records).newest(limit=10, unread=False) == []
    assert await runs_of(records).listed(session="", state="", limit=10) == []
    assert await outbox_of(records).listed(state="", limit=10) == []
    assert await lists_of(records).one(KEY) is None
    assert await runs_of(records).run("r1") is None
    assert await runs_of(records).entries("r1") == ()
    assert await outbox_of(records).one(1) is None


async def test_a_live_run_is_seen_with_its_session_and_reading_changes_nothing(home: Home) -> None:
    journal, records = home.journal(), home.records()
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)
    await admit(journal, said("waits"))
    before = await home.everything()
    (run,) = await runs_of(records).listed(session=KEY, state="live", limit=10)
    assert (run.id, run.state, run.usage) == ("r1", "model_running", None)
    assert len(run.inbound_ids) == 1
    session = await lists_of(records).one(KEY)
    assert session is not None
    assert (session.run, session.waiting, session.has_unread) == ("r1", 1, True)
    assert [entry.kind for entry in await runs_of(records).entries("r1")] == [
        entry.kind for entry in await log_of(records).entries(KEY, after=0, limit=100)
    ]
    assert (await counts_of(records).counts()).waiting == 1
    assert await home.everything() == before


async def test_what_was_read_is_unread_again_after_a_change(home: Home) -> None:
    journal, records = home.journal(), home.records()
    await begun(journal, "r1")
    assert await marks_of(records).mark_read(KEY)
    assert await lists_of(records).newest(limit=10, unread=True) == []
    home.clock.advance(1)
    await journal.post(KEY, told("news", "p1"))
    assert [session.key for session in await lists_of(records).newest(limit=10, unread=True)] == [
        KEY
    ]
    assert not await marks_of(records).mark_read("nowhere")


async def test_a_cancelled_run_is_fenced_and_what_waits_stays(home: Home) -> None:
    journal, records = home.journal(), home.records()
    claimed = await begun(journal, "r1")
    await admit(journal, said("waits"))
    ended = await records.cancel("r1", CANCELLED, "1001")
    assert ended is not None
    assert await records.cancel("r1", CANCELLED, "1001") is None
    assert await records.cancel("unknown", CANCELLED, "1001") is None
    with pytest.raises(Fenced):
        await journal.release(claimed.lane, claimed.run)
    assert (await home.bodies(KEY))[-1] == CancelEntry(by="1001")
    assert (await counts_of(records).counts()).waiting == 1
    (owed,) = await outbox_of(records).listed(state="pending", limit=10)
    assert (owed.address, owed.text) == ("telegram:7", "Cancelled.")


async def test_a_dead_message_comes_back_and_a_dropped_one_does_not(home: Home) -> None:
    journal, records = home.journal(), home.records()
    await begun(journal, "r1")
    await records.cancel("r1", CANCELLED, "1001")
    row = await following(journal)
    await journal.bury(row, "blocked", scope="message")
    assert (await counts_of(records).counts()).dead == 1
    assert await outbox_of(records).retry(row.id) == CHAT
    assert await outbox_of(records).retry(row.id) is None
    assert await outbox_of(records).drop(row.id)
    assert not await outbox_of(records).drop(row.id)
    after = await outbox_of(records).one(row.id)
    assert after is not None
    assert after.state == "dropped"
    assert await journal.next_outbound(CHAT) is None


async def test_a_deleted_session_can_begin_again_and_knows_what_arrived(home: Home) -> None:
    journal, eraser = home.journal(), home.eraser()
    await admit(journal, said("secret"))
    claimed = await begun(journal, "r1")
    with pytest.raises(UsageError, match="is alive"):
        await eraser.delete(KEY)
    await home.records().cancel("r1", CANCELLED, "1001")
    assert await eraser.delete(KEY) > 0
    assert await home.rows("SELECT * FROM entries") == []
    assert await home.rows("SELECT * FROM outbound") == []
    (again,) = await admit(journal, said("secret"))
    assert not again.fresh
    with pytest.raises(Fenced):
        await journal.release(claimed.lane, claimed.run)
    with pytest.raises(UsageError, match="no session"):
        await eraser.delete(KEY)


async def test_a_sessions_prompt_is_told_and_can_be_forgotten(home: Home) -> None:
    journal, records = home.journal(), home.records()
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)

    async def shown() -> tuple[int, str | None, str | None]:
        row = await journal.session(KEY)
        assert row is not None
        return row.window_from, row.prompt, row.prompt_variant

    assert await shown() == (1, "digest", "plain")
    assert await lists_of(records).forget_prompts() == 1
    assert await shown() == (1, None, None)
    assert await lists_of(records).forget_prompts() == 0
