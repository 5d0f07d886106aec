"""An answer whose send begins with the end of its run: only if nothing stands in its way."""

from __future__ import annotations

from nanobot.ports import OutboundPart
from nanobot.session.runs import Finished
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home, leases_of, on_postgres
from tests.store.making import CHAT, begun, ending, following, rendered, told
from tests.stored import previewing


async def finished(journal: SqlJournal, run_id: str = "run", *texts: str) -> Finished:
    """A run ends with the answer "yes", in these parts."""
    claimed = await begun(journal, run_id)
    parts = rendered(*(texts or ("yes",)))
    return await journal.finish_sending(
        claimed.lane, claimed.run, ending("yes", run_id=run_id), parts
    )


async def states(home: Home, table: str = "outbound") -> list[str]:
    order = "id" if table == "outbound" else "outbound_id, idx"
    return await home.column(f"SELECT state FROM {table} ORDER BY {order}")


async def test_the_answer_of_a_run_is_about_to_be_sent_when_the_run_has_ended(home: Home) -> None:
    journal = home.journal()
    done = await finished(journal, "run", "y", "es")
    assert not done.more
    assert done.sending is not None
    assert (done.sending.message.text, done.sending.attempts, done.sending.parts) == ("yes", 0, ())
    assert await home.column("SELECT state FROM runs") == [RunState.COMPLETED]
    assert await home.column("SELECT state FROM inbound") == ["settled"]
    assert await states(home) == ["sending"]
    assert await states(home, "outbound_parts") == ["sending", "pending"]
    assert await journal.receipt(done.sending, 0, "m1", begin=1) is None
    assert await journal.receipt(done.sending, 1, "m2", begin=None) is None
    assert await states(home) == ["sent"]


async def test_another_process_finds_it_in_doubt(home: Home) -> None:
    await finished(home.journal())
    row = await following(home.journal("another"))
    assert (row.state, row.attempts) == ("sending", 1)
    assert [(part.state, part.part.text) for part in row.parts] == [("sending", "yes")]
    assert row.parts[0].began_at == home.clock.now()


async def test_a_message_that_is_not_sent_yet_goes_first(home: Home) -> None:
    journal = home.journal()
    await journal.post(str(CHAT), told("before", "before"))
    done = await finished(journal)
    assert done.sending is None
    assert await states(home) == ["pending", "pending"]
    assert (await following(journal)).message.text == "before"


async def test_a_preview_that_may_be_shown_becomes_the_answer_as_ever(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    shown = OutboundPart(text="y ...", key="run:0:p")
    assert await previewing(journal).preview("run", told("y", "run:0"), shown) is not None
    done = await journal.finish_sending(
        claimed.lane, claimed.run, ending("yes", run_id="run"), rendered("yes")
    )
    assert done.sending is None
    row = await following(journal)
    assert (row.state, row.message.text) == ("pending", "yes")
    assert row.preview is not None


@on_postgres
async def test_a_chat_that_another_process_has_taken_is_left_to_it(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    assert (await leases_of(first).take_chat(CHAT, helping=False)).ours
    await home.database.transact(
        lambda connection: connection.exec_driver_sql("UPDATE channel_leases SET until = 0")
    )
    assert (await leases_of(second).take_chat(CHAT, helping=False)).ours
    assert (await finished(first)).sending is None
    assert await states(home) == ["pending"]


@on_postgres
async def test_a_chat_that_is_ours_is_kept(home: Home) -> None:
    journal = home.journal("first")
    assert (await leases_of(journal).take_chat(CHAT, helping=False)).ours
    assert (await finished(journal)).sending is not None
