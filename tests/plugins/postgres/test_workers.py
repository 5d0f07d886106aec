"""Several processes over one PostgreSQL: leases by its clock, one winner, nobody stuck."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress

import pytest
import sqlalchemy as sa

from nanobot.errors import Fenced
from nanobot.messages import Address
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.session.inbox import Admitted
from nanobot.session.journal import Journal
from nanobot.session.runs import Claim, Ending
from nanobot.session.states import RunState
from nanobot.store.database import migrate, schema
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.unit import StoreContext
from tests.store.conftest import Postgres
from tests.store.home import LEASE_SECONDS, Home, leases_of, on_postgres
from tests.store.making import (
    KEY,
    admit,
    answered,
    asked,
    begun,
    claim,
    let_in,
    rendered,
    said,
    stop_order,
    told,
)

pytestmark = on_postgres


@pytest.fixture
async def workers(home: Home, postgres_url: str) -> AsyncIterator[list[SqlJournal]]:
    """Two processes besides the test's own. They try once: a deadlock would be an error."""
    databases = [PostgresDatabase(postgres_url, workers=4, tries=1) for _ in range(2)]
    yield [
        SqlJournal(database, StoreContext(home.clock, home.ids, f"worker-{n}", LEASE_SECONDS))
        for n, database in enumerate(databases)
    ]
    for database in databases:
        await database.close()


async def test_a_lane_claimed_by_several_at_once_has_one_winner(
    home: Home, workers: list[SqlJournal]
) -> None:
    for number in range(10):
        key = f"session-{number}"
        await admit(home.journal(), said(key), session_key=key)
        async with asyncio.TaskGroup() as tasks:
            claims = [
                tasks.create_task(workers[n % 2].claim(key, f"{key}-{n}", "UTC")) for n in range(6)
            ]
        assert sum(attempt.result() is not None for attempt in claims) == 1
        assert await home.column("SELECT count(*) FROM runs WHERE session_key = :k", k=key) == [1]


async def test_of_several_who_resume_a_run_one_wins_and_it_counts_once(
    home: Home, workers: list[SqlJournal]
) -> None:
    await begun(home.doomed(), "r1")
    async with asyncio.TaskGroup() as tasks:
        claims = [tasks.create_task(workers[n % 2].claim(KEY, "x", "UTC")) for n in range(6)]
    (won,) = [attempt.result() for attempt in claims if attempt.result() is not None]
    assert won is not None
    assert (won.run.id, won.run.attempts) == ("r1", 2)


async def test_a_message_let_in_by_two_at_once_is_taken_once(
    home: Home, workers: list[SqlJournal]
) -> None:
    for number in range(10):
        batch = [said(f"{number}-{n}") for n in range(5)]
        turned = list(reversed(batch))
        async with asyncio.TaskGroup() as tasks:
            done = [
                tasks.create_task(admit(workers[0], *batch)),
                tasks.create_task(admit(workers[1], *turned)),
            ]
        taken: list[Admitted] = [admitted for task in done for admitted in task.result()]
        assert sum(admitted.fresh for admitted in taken) == 5
    assert await home.column("SELECT count(*) FROM inbound") == [50]


async def test_the_lease_is_measured_by_the_databases_clock(home: Home) -> None:
    await begun(home.journal("us"))
    home.clock.advance(10 * LEASE_SECONDS)
    assert await home.journal("them").claim(KEY, "x", "UTC") is None
    assert await home.journal("them").ready() == []


async def test_a_lease_that_ran_out_leaves_the_lane_to_others(home: Home) -> None:
    lost = await begun(home.journal("us", lease=-1.0), "r1")
    resumed = await claim(home.journal("them"), "x")
    assert (resumed.run.id, resumed.run.attempts) == ("r1", 2)
    with pytest.raises(Fenced):
        await asked(home.journal("us"), lost)


async def test_a_lease_that_ran_out_unnoticed_still_writes(home: Home) -> None:
    """Nobody claimed the lane, so nobody is harmed."""
    journal = home.journal("us", lease=-1.0)
    await asked(journal, await begun(journal))


async def test_renewing_extends_every_lease_that_is_still_held(home: Home) -> None:
    short = home.journal("us", lease=-1.0)
    held = [await begun(short, f"r{n}", f"s{n}") for n in range(3)]
    await claim(home.journal("them"), "x", "s1")
    await leases_of(home.journal("us")).renew()
    for key in ("s0", "s1", "s2"):
        assert await home.journal("others").claim(key, "x", "UTC") is None
    assert await home.column("SELECT owner FROM sessions ORDER BY key") == ["us", "them", "us"]
    with pytest.raises(Fenced):
        await asked(short, held[1])
    await asked(short, held[0])


async def test_what_nobody_drives_is_not_renewed(home: Home) -> None:
    journal = home.journal("us", lease=0.0)
    claimed = await begun(journal)
    await leases_of(journal).renew()
    before = await home.rows("SELECT owner, lease_until FROM sessions")
    journal.let_go(claimed.lane)
    await leases_of(journal).renew()
    assert await home.rows("SELECT owner, lease_until FROM sessions") == before
    assert (await claim(home.journal("them"), "x")).run.id == claimed.run.id


async def test_what_was_let_go_is_not_renewed(home: Home) -> None:
    journal = home.journal("us")
    claimed = await begun(journal)
    await journal.release(claimed.lane, claimed.run)
    await leases_of(journal).renew()
    assert await home.rows("SELECT owner, lease_until FROM sessions") == [(None, None)]


async def test_a_deadlock_is_resolved_by_doing_it_again(home: Home) -> None:
    """Two units that lock the same rows in opposite order; the first time they truly meet."""
    await home.execute("INSERT INTO meta VALUES ('a', ''), ('b', '')")
    meet = threading.Barrier(2)
    met: set[str] = set()

    def lock(first: str, second: str, connection: sa.Connection) -> None:
        touch = sa.update(schema.meta).values(value=schema.meta.c.value + first)
        connection.execute(touch.where(schema.meta.c.key == first))
        if first not in met:
            met.add(first)
            meet.wait(10)
        connection.execute(touch.where(schema.meta.c.key == second))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(home.do(lambda c: lock("a", "b", c)))
        tasks.create_task(home.do(lambda c: lock("b", "a", c)))
    values = await home.column("SELECT value FROM meta WHERE key IN ('a', 'b')")
    assert [sorted(value) for value in values] == [["a", "b"], ["a", "b"]]


async def test_a_driver_an_order_to_stop_and_a_post_never_wait_for_each_other_in_a_circle(
    home: Home, workers: list[SqlJournal]
) -> None:
    driver, other = workers
    for number in range(15):
        claimed = await begun(driver, f"r{number}")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(may_be_fenced(asked(driver, claimed)))
            tasks.create_task(admit(other, said(f"more-{number}")))
            tasks.create_task(may_be_fenced(driver.take_pending(claimed.lane, claimed.run, "UTC")))
            tasks.create_task(other.post(KEY, told("by the way", f"post-{number}")))
            tasks.create_task(admit(other, stop_order(key=f"stop-{number}", everyone=True)))
    assert await home.column("SELECT DISTINCT state FROM runs") == ["aborted"]


async def may_be_fenced(verb: Awaitable[object]) -> None:
    """A verb whose lane an order to stop may take away."""
    with suppress(Fenced):
        await verb


async def test_eight_workers_over_the_same_chats_answer_everything_once_and_in_order(
    home: Home, workers: list[SqlJournal]
) -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for number in range(4):
            tasks.create_task(speak(workers[number % 2], number))
            tasks.create_task(work(workers[number % 2], home, number))
    await work(home.journal(), home, 4)
    for chat in CHATS:
        await deliver(home.journal(), chat)

    assert await home.column("SELECT DISTINCT state FROM inbound") == ["settled"]
    assert await home.column("SELECT DISTINCT state FROM runs") == ["completed"]
    assert await home.column("SELECT DISTINCT state FROM outbound") == ["sent"]
    for table in ("inbound", "entries WHERE kind = 'user'"):
        assert await home.column(f"SELECT count(*) FROM {table}") == [4 * len(CHATS) * ROUNDS]
    for chat in CHATS:
        query = "SELECT dedupe_key FROM inbound WHERE chat_id = :c ORDER BY id"
        accepted = await home.column(query, c=chat.chat_id)
        for number in range(4):
            own = [text for text in accepted if text.endswith(f"-{number}")]
            assert own == [f"{turn}-{number}" for turn in range(ROUNDS)]


CHATS = [Address("telegram", str(n)) for n in range(4)]
ROUNDS = 6


async def speak(journal: Journal, number: int) -> None:
    """One person says something in every chat, again and again."""
    for turn in range(ROUNDS):
        text, sender = f"{turn}-{number}", f"person-{number}"
        order = CHATS if number % 2 else CHATS[::-1]
        batch = [let_in(said(text, sender, chat), str(chat)) for chat in order]
        await journal.admit("telegram", batch, None, 1000)


async def work(journal: Journal, home: Home, number: int) -> None:
    """Answer whatever waits, until a few rounds found nothing."""
    idle = 0
    while idle < 3:
        idle += 1
        for chat in CHATS if number % 2 else CHATS[::-1]:
            claimed = await journal.claim(str(chat), f"{home.ids.run_id()}-{number}", "UTC")
            if claimed is not None:
                idle = 0
                await drive(journal, claimed, chat)


async def drive(journal: Journal, claimed: Claim, chat: Address) -> None:
    """A run from its claim to its end."""
    await asked(journal, claimed)
    await journal.take_pending(claimed.lane, claimed.run, "UTC")
    await answered(journal, claimed, f"answer of {claimed.run.id}", address=chat)


async def deliver(journal: Journal, chat: Address) -> None:
    """Send all that a chat is owed."""
    row = await journal.next_outbound(chat)
    while row is not None:
        await journal.begin_send(row, rendered("x"), 0, duplicate=False)
        row = await journal.receipt(row, 0, "m", begin=None)


async def test_two_processes_that_start_together_create_the_tables_once(
    home: Home, postgres: Postgres
) -> None:
    url = postgres.empty()
    databases = [PostgresDatabase(url, workers=1) for _ in range(3)]
    async with asyncio.TaskGroup() as tasks:
        starting = [tasks.create_task(empty.transact(migrate.prepare)) for empty in databases]
    assert [task.result() for task in starting] == [False, False, False]
    for database in databases:
        await database.close()


async def test_a_run_stopped_elsewhere_ends_for_its_driver(
    home: Home, workers: list[SqlJournal]
) -> None:
    driver, other = workers
    claimed = await begun(driver)
    await admit(other, stop_order())
    with pytest.raises(Fenced):
        await driver.finish(claimed.lane, claimed.run, Ending(state=RunState.COMPLETED))
