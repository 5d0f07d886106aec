"""Over PostgreSQL nobody waits without end: not for a process that was stopped, not for a lock, not
for a server that says nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
import sqlalchemy as sa

from nanobot.errors import StoreError
from nanobot.plugins.postgres.store.postgres import LIMITS, PostgresDatabase
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home, on_postgres
from tests.store.making import KEY, admit, answered, begun, claim, said
from tests.store.proxy import proxied

QUICK = {**LIMITS, "lock_timeout": "300ms", "idle_in_transaction_session_timeout": "300ms"}
LOCK = sa.text("SELECT * FROM sessions FOR UPDATE")


@contextmanager
def stopped_within_a_transaction(url: str) -> Iterator[None]:
    """A process that was stopped (or cut off) while it had all sessions locked."""
    go_on, locked = threading.Event(), threading.Event()
    database = PostgresDatabase(url, workers=1, limits=QUICK)

    def work(connection: sa.Connection) -> None:
        connection.execute(LOCK).all()
        locked.set()
        go_on.wait(60)

    def stopped() -> None:
        with suppress(StoreError):
            database.run_now(work)

    thread = threading.Thread(target=stopped)
    thread.start()
    assert locked.wait(10)
    try:
        yield
    finally:
        go_on.set()
        thread.join()
        database.shut()


@on_postgres
async def test_a_process_that_is_stopped_within_a_transaction_holds_others_up_for_seconds_only(
    home: Home, postgres_url: str
) -> None:
    await answered(home.journal(), await begun(home.journal(), "r1"))
    with stopped_within_a_transaction(postgres_url):
        async with asyncio.timeout(30):
            await admit(home.journal(), said("again"))
            while await home.journal().claim(KEY, "r2", "UTC") is None:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(await home.journal().held(KEY))


@on_postgres
async def test_who_waits_for_a_lock_hears_of_it_instead_of_waiting_on(
    home: Home, postgres_url: str
) -> None:
    claimed = await begun(home.journal(), "r1")
    hasty = PostgresDatabase(postgres_url, limits=QUICK)
    journal = home.journal(database=hasty)
    with psycopg.connect(postgres_url) as foreign:
        foreign.execute("SELECT * FROM sessions FOR UPDATE")
        async with asyncio.timeout(30):
            with pytest.raises(StoreError, match=r"held up .*lock timeout"):
                await answered(journal, claimed, "hi")
    await answered(journal, claimed, "hi")
    await hasty.close()


@on_postgres
async def test_a_lane_that_another_transaction_has_at_hand_is_not_waited_for(
    postgres_url: str, journal: SqlJournal
) -> None:
    await admit(journal, said("hello"))
    with psycopg.connect(postgres_url) as foreign:
        foreign.execute("SELECT * FROM sessions FOR UPDATE")
        async with asyncio.timeout(2):
            assert await journal.claim(KEY, "r1", "UTC") is None
            assert 0 < await journal.held(KEY) <= 1  # it is looked at again soon
    assert await journal.held(KEY) == 0
    assert (await claim(journal, "r1")).run.id == "r1"


@on_postgres
async def test_a_connection_that_says_nothing_is_cut_and_a_new_one_taken(
    home: Home, postgres_url: str
) -> None:
    await admit(home.journal(), said("hello"))
    async with proxied(postgres_url) as (proxy, url):
        database = PostgresDatabase(url, workers=1, patience=0.5)
        journal = home.journal(database=database)
        assert [lane.session_key for lane in await journal.ready()] == [KEY]
        proxy.silent = True
        async with asyncio.timeout(10):
            listing = asyncio.create_task(journal.ready())
            await asyncio.sleep(0.3)
            proxy.silent = False  # for new connections; what was sent meanwhile is lost
            assert [lane.session_key for lane in await listing] == [KEY]
        assert proxy.connections == 2
        await database.close()


@on_postgres
async def test_a_lane_is_not_lost_with_the_answer_to_the_commit_that_claimed_it(
    home: Home, postgres_url: str
) -> None:
    await admit(home.journal(), said("hello"))
    async with proxied(postgres_url) as (proxy, url):
        database = PostgresDatabase(url, workers=1, patience=0.5)
        journal = home.journal(database=database)
        await journal.ready()
        proxy.swallow = b"\x00COMMIT\x00"
        with pytest.raises(StoreError):
            await journal.claim(KEY, "r1", "UTC")
        proxy.swallow, proxy.silent = None, False
        assert await home.column("SELECT id FROM runs") == ["r1"]  # it was committed all the same
        assert [lane.session_key for lane in await journal.ready()] == [KEY]
        claimed = await claim(journal, "r2")
        assert (claimed.run.id, claimed.run.attempts) == ("r1", 2)
        await database.close()


@on_postgres
async def test_a_connection_that_ended_while_nobody_used_it_is_replaced_unnoticed(
    home: Home,
) -> None:
    await admit(home.journal(), said("hello"))
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid()"
    await home.rows(f"{ended} AND datname = current_database()")
    for _ in range(8):
        assert [lane.session_key for lane in await home.journal().ready()] == [KEY]
