"""A message that begins its run in the transaction that admits it, if nothing stands in its way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from nanobot.messages import Address
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.session.entries import UserEntry
from nanobot.session.inbox import Admission, Admitted, Busy
from nanobot.session.runs import Claim, NewRun
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home, on_postgres
from tests.store.making import (
    ANN,
    BEN,
    CHAT,
    KEY,
    admit,
    answered,
    asked,
    begun,
    claim,
    let_in,
    said,
    stop_order,
    with_file,
)

Before = Callable[[SqlJournal], Awaitable[object]]


async def start(
    journal: SqlJournal,
    message: Admission,
    run_id: str = "run",
    *,
    busy: Busy | None = None,
    cursor: str | None = None,
    lane_limit: int = 50,
) -> Admitted:
    new = NewRun(run_id, "Europe/Berlin")
    came, limit = busy or Busy(), lane_limit
    return await journal.admit_claiming("telegram", message, cursor, limit, came, new)


def told_apart(claimed: Claim) -> dict[str, object]:
    """What a claim says, without what is different in every session."""
    said = msgspec.to_builtins(claimed)
    run = {k: v for k, v in said["run"].items() if k not in ("id", "session_key", "created_at")}
    bodies = [msgspec.to_builtins(entry.body) for entry in claimed.entries]
    for body in bodies:
        body.pop("inbound_id", None)
    return {**said, "lane": claimed.lane.token, "run": run, "entries": bodies}


async def test_the_claim_is_the_one_that_would_follow_the_admission(
    home: Home, journal: SqlJournal
) -> None:
    claims: dict[str, list[Claim]] = {"together": [], "apart": []}
    for key, got in claims.items():
        for number in (1, 2):
            message = let_in(said(f"message {number}", key=f"{key}-{number}"), f"telegram:{key}")
            if key == "together":
                came = await start(journal, message, f"{key}{number}")
                assert came.claim is not None
                claimed = came.claim
            else:
                await admit(journal, message)
                claimed = await claim(journal, f"{key}{number}", message.session_key)
            got.append(claimed)
            await asked(journal, claimed)
            await answered(journal, claimed, f"answer {number}")
            journal.let_go(claimed.lane)
    for together, apart in zip(claims["together"], claims["apart"], strict=True):
        one, other = told_apart(together), told_apart(apart)
        for of_message in (one, other):
            for body in of_message["entries"]:  # type: ignore[attr-defined]
                body.pop("message_id", None)
            of_message["run"].pop("reply_to")  # type: ignore[attr-defined]
        assert one == other
    assert await home.column("SELECT DISTINCT state FROM inbound") == ["settled"]


async def test_its_cursor_message_and_run_are_kept_together(
    home: Home, journal: SqlJournal
) -> None:
    came = await start(journal, let_in(said("hello")), cursor="7")
    assert came.fresh
    assert came.claim is not None
    assert await journal.cursor("telegram") == "7"
    rows = await home.rows("SELECT id, state, run_id FROM inbound")
    assert rows == [(came.inbound_id, "taken", "run")]
    assert await home.rows("SELECT state, attempts FROM runs") == [(RunState.PREPARING, 1)]
    (entry,) = came.claim.entries
    assert isinstance(entry.body, UserEntry)
    assert (entry.body.text, entry.body.inbound_id) == ("hello", came.inbound_id)
    assert await journal.claim(KEY, "other", "UTC") is None  # it is ours


async def _a_held_lane(journal: SqlJournal) -> None:
    await begun(journal, "before")


async def _a_run_of_another_process(journal: SqlJournal) -> None:
    (came,) = await admit(journal, said("before"))
    assert came.fresh
    claimed = await claim(journal, "before")
    journal.let_go(claimed.lane)  # not driven here any more, but live


async def _a_waiting_message(journal: SqlJournal) -> None:
    await admit(journal, said("before"))


async def _a_message_of_somebody_else(journal: SqlJournal) -> None:
    await admit(journal, said("before", BEN))


async def _nothing(_: SqlJournal) -> None:
    pass


@pytest.mark.parametrize(
    "before",
    [_a_held_lane, _a_run_of_another_process, _a_waiting_message, _a_message_of_somebody_else],
)
async def test_it_waits_behind_what_is_there(
    home: Home, journal: SqlJournal, before: Before
) -> None:
    await before(journal)
    came = await start(journal, let_in(said("hello")))
    assert came.fresh
    assert came.claim is None
    query = "SELECT state FROM inbound WHERE dedupe_key = 'hello'"
    assert await home.column(query) == ["pending"]


@pytest.mark.parametrize(
    "message",
    [
        stop_order(),
        with_file("photo"),
        let_in(msgspec.structs.replace(said("part"), group_id="album")),
    ],
    ids=["an order to stop", "files on their way", "a part of an album"],
)
async def test_what_begins_no_run_at_once_is_admitted_as_ever(
    home: Home, journal: SqlJournal, message: Admission
) -> None:
    came = await start(journal, message)
    assert came.fresh
    assert came.claim is None
    assert await home.column("SELECT count(*) FROM runs") == [0]


async def test_a_known_message_begins_nothing(home: Home, journal: SqlJournal) -> None:
    first = await start(journal, let_in(said("hello")))
    assert first.claim is not None
    await answered(journal, first.claim, "yes")
    journal.let_go(first.claim.lane)
    again = await start(journal, let_in(said("hello")), "again")
    assert not again.fresh
    assert again.claim is None
    assert await home.column("SELECT id FROM runs") == ["run"]


async def test_a_full_lane_is_refused_as_ever(home: Home, journal: SqlJournal) -> None:
    await admit(journal, said("before"))
    came = await start(journal, let_in(said("hello")), lane_limit=1)
    assert came.refused
    assert came.claim is None


async def test_it_ends_no_run_where_messages_interrupt(home: Home, journal: SqlJournal) -> None:
    busy = Busy(mode="interrupt")
    came = await start(journal, let_in(said("hello")), busy=busy)
    assert came.claim is not None
    later = await start(journal, let_in(said("no, this")), "later", busy=busy)
    assert later.claim is None
    assert later.stopped is not None
    assert later.stopped.id == "run"


async def test_the_members_of_a_group_read_the_claimed_conversation(journal: SqlJournal) -> None:
    in_group = msgspec.structs.replace(said("hello"), group=True)
    came = await start(journal, let_in(in_group))
    assert came.claim is not None
    assert came.claim.shared


async def test_after_a_crash_the_run_resumes_and_the_attempt_counts(home: Home) -> None:
    came = await start(home.doomed(), let_in(said("hello")))
    assert came.claim is not None
    claimed = await claim(home.journal(), "other")
    assert (claimed.run.id, claimed.run.attempts) == ("run", 2)


async def test_a_caller_that_is_cancelled_holds_nothing(home: Home, journal: SqlJournal) -> None:
    task = asyncio.ensure_future(start(journal, let_in(said("hello"))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await admit(journal, said("more"))
    claimed = await claim(journal, "other")
    assert claimed.run.id in ("run", "other")  # whether the first came that far or not
    await home.reopen()  # what it has begun ends here, and not within the next test


async def test_an_entry_that_cannot_be_read_does_not_keep_a_message_out(
    home: Home, journal: SqlJournal
) -> None:
    first = await start(journal, let_in(said("hello")))
    assert first.claim is not None
    await answered(journal, first.claim, "yes")
    journal.let_go(first.claim.lane)
    home.damaged = frozenset({KEY})
    await home.execute("UPDATE entries SET payload = :p WHERE seq = 1", p=b"\xff")
    came = await start(journal, let_in(said("are you there?", ANN)), "next", cursor="8")
    assert came.claim is None
    assert await journal.cursor("telegram") == "8"
    query = "SELECT state FROM inbound WHERE dedupe_key = 'are you there?'"
    # PostgreSQL has committed the claim before the entry is read; nobody holds it then.
    assert await home.column(query) == ["taken" if home.shared else "pending"]
    assert [lane.session_key for lane in await journal.ready()] == [KEY]


@on_postgres
async def test_of_two_processes_that_admit_a_message_one_begins_its_run(
    home: Home, postgres_url: str
) -> None:
    databases = [PostgresDatabase(postgres_url, workers=4, tries=1) for _ in range(2)]
    try:
        journals = [home.journal(f"p{n}", database=each) for n, each in enumerate(databases)]
        for number in range(20):
            message = let_in(
                said("hello", address=Address("telegram", str(number)), key=f"{number}"),
                f"telegram:{number}",
            )
            both = [start(each, message, f"{n}-{number}") for n, each in enumerate(journals)]
            came = await asyncio.gather(*both)
            assert sum(each.fresh for each in came) == 1
            assert sum(each.claim is not None for each in came) <= 1
            query = "SELECT count(*) FROM inbound WHERE session_key = :k"
            assert await home.column(query, k=f"telegram:{number}") == [1]
            taken = "SELECT count(*) FROM runs WHERE session_key = :k"
            assert await home.column(taken, k=f"telegram:{number}") in ([0], [1])
    finally:
        for database in databases:
            await database.close()


async def test_messages_of_two_chats_begin_side_by_side(home: Home, journal: SqlJournal) -> None:
    other = Address("telegram", "8")
    first = await start(journal, let_in(said("hello", address=CHAT)), "r1")
    second = await start(journal, let_in(said("hello", address=other), "telegram:8"), "r2")
    assert first.claim is not None
    assert second.claim is not None
    assert {first.claim.run.id, second.claim.run.id} == {"r1", "r2"}
