"""Units of work on SQLite: committed together, undone alone, and never half kept."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from nanobot.errors import Fenced, StoreError, StoreUnwritable
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home, in_file, in_memory, on_sqlite
from tests.store.making import KEY, admit, answered, asked, begun, claim, said, told


class Noted(Exception):
    """What a test's unit of work raises."""


def note(key: str) -> sa.Executable:
    return sa.text("INSERT INTO meta VALUES (:k, '')").bindparams(k=key)


async def noted(home: Home) -> list[str]:
    return await home.column("SELECT key FROM meta WHERE key != 'min_reader' ORDER BY key")


@asynccontextmanager
async def together(home: Home) -> AsyncIterator[asyncio.TaskGroup]:
    """What is handed in within waits for each other and is committed as one batch."""
    busy, done = threading.Event(), threading.Event()

    def wait(_: sa.Connection) -> None:
        busy.set()
        done.wait()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(home.do(wait))
        await asyncio.to_thread(busy.wait)
        yield tasks
        await asyncio.sleep(0)  # the tasks hand their work in
        done.set()


async def attempt(home: Home, key: str, error: Exception | None = None) -> object:
    """A unit that notes a key and may fail afterwards; gives what came of it."""

    def work(connection: sa.Connection) -> str:
        connection.execute(note(key))
        if error is not None:
            raise error
        return key

    try:
        return await home.do(work)
    except (Noted, StoreError) as raised:
        return raised


@on_sqlite
async def test_of_a_batch_only_the_unit_that_fails_is_undone(home: Home) -> None:
    async with together(home) as tasks:
        outcomes = [
            tasks.create_task(attempt(home, "a")),
            tasks.create_task(attempt(home, "b", Noted())),
            tasks.create_task(attempt(home, "c")),
        ]
    results = [task.result() for task in outcomes]
    assert (results[0], type(results[1]), results[2]) == ("a", Noted, "c")
    assert await noted(home) == ["a", "c"]


@on_sqlite
async def test_of_a_batch_only_the_unit_with_the_broken_statement_is_undone(home: Home) -> None:
    async with together(home) as tasks:
        outcomes = [tasks.create_task(attempt(home, key)) for key in ("a", "b", "a", "c")]
    results = [task.result() for task in outcomes]
    assert isinstance(results[2], StoreError)
    assert await noted(home) == ["a", "b", "c"]


@on_sqlite
async def test_a_fenced_verb_in_a_batch_leaves_the_others_alone(home: Home) -> None:
    journal = home.journal()
    lost = await begun(home.doomed())
    held = await claim(journal)
    async with together(home) as tasks:
        late = tasks.create_task(refused(answered(journal, lost, "late")))
        kept = tasks.create_task(answered(journal, held, "kept"))
        more = tasks.create_task(admit(journal, said("more")))
    assert late.result()
    assert not kept.result()
    assert more.result()[0].fresh
    assert await home.column("SELECT key FROM outbound") == ["run:0"]


async def refused(verb: object) -> bool:
    """Whether an awaitable raises Fenced."""
    try:
        await verb  # type: ignore[misc]
    except Fenced:
        return True
    return False


@on_sqlite
async def test_a_unit_that_loses_the_transaction_fails_its_whole_batch(home: Home) -> None:
    """As SQLite may do on a full disk or a failing one: it ends the transaction by itself."""

    def lose(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("SELECT * FROM there_is_no_such_table")

    async def losing() -> object:
        try:
            return await home.do(lose)
        except StoreError as error:
            return error

    async with together(home) as tasks:
        outcomes = [
            tasks.create_task(attempt(home, "a")),
            tasks.create_task(losing()),
            tasks.create_task(attempt(home, "b")),
        ]
    assert all("no_such_table" in str(task.result()) for task in outcomes)
    assert await noted(home) == []
    assert await attempt(home, "a") == "a"


async def test_on_a_full_disk_everything_fails_and_nothing_is_half_kept(new_home: Home) -> None:
    journal = new_home.journal()
    claimed = await begun(journal)
    await new_home.do(_fill)
    before = await new_home.everything()
    for verb in (
        lambda: admit(journal, said("x" * 5000)),
        lambda: asked_at_length(new_home),
        lambda: answered(journal, claimed, "x" * 5000),
    ):
        with pytest.raises(StoreUnwritable, match="full"):
            await verb()
        assert await new_home.everything() == before
    await new_home.do(_make_room)
    await asked(journal, claimed)
    await answered(journal, claimed, "x" * 5000)
    assert (await admit(journal, said("x" * 5000)))[0].fresh


async def asked_at_length(home: Home) -> None:
    await home.journal().post(KEY, told("x" * 5000, "post"))


async def test_on_a_full_disk_a_whole_batch_is_told(new_home: Home) -> None:
    await new_home.do(_fill)
    before = await new_home.everything()
    journal = new_home.journal()

    async def long(text: str) -> object:
        try:
            return await admit(journal, said(text * 3000))
        except StoreUnwritable as error:
            return error

    async with together(new_home) as tasks:
        outcomes = [tasks.create_task(long(text)) for text in "abc"]
    assert all(isinstance(task.result(), StoreUnwritable) for task in outcomes)
    assert await new_home.everything() == before
    await new_home.do(_make_room)
    assert isinstance(await long("a"), list)


def _fill(connection: sa.Connection) -> None:
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").close()


def _make_room(connection: sa.Connection) -> None:
    connection.exec_driver_sql("PRAGMA max_page_count = 1000000").close()


@in_memory
async def test_a_database_that_may_not_be_written_says_so(home: Home) -> None:
    def write(connection: sa.Connection) -> None:
        connection.exec_driver_sql("PRAGMA query_only = ON").close()
        try:
            connection.execute(note("a"))
        finally:
            connection.exec_driver_sql("PRAGMA query_only = OFF").close()

    with pytest.raises(StoreUnwritable, match="permissions"):
        await home.do(write)
    assert await attempt(home, "a") == "a"


@on_sqlite
async def test_who_gives_up_waiting_does_not_undo_what_was_handed_in(home: Home) -> None:
    async with together(home) as tasks:
        task = tasks.create_task(attempt(home, "a"))
        await asyncio.sleep(0)
        task.cancel()
    assert await noted(home) == ["a"]


@on_sqlite
async def test_a_burst_is_committed_in_the_order_it_came(home: Home, journal: SqlJournal) -> None:
    async with together(home) as tasks:
        for number in range(100):
            tasks.create_task(admit(journal, said(f"{number:03}")))
    keys = await home.column("SELECT dedupe_key FROM inbound ORDER BY id")
    assert keys == [f"{number:03}" for number in range(100)]


@in_file
async def test_closing_commits_what_was_handed_in(home: Home) -> None:
    async with asyncio.TaskGroup() as tasks:
        for key in "abc":
            tasks.create_task(attempt(home, key))
        await asyncio.sleep(0)
        await home.reopen()
    assert await noted(home) == ["a", "b", "c"]


def without_rollback(connection: sa.Connection) -> sqlite3.Connection:
    """The driver's connection, which refuses to roll back from now on."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)

    def refuse(action: int, what: str | None, *_: object) -> int:
        rollback = action == sqlite3.SQLITE_TRANSACTION and what == "ROLLBACK"
        return sqlite3.SQLITE_DENY if rollback else sqlite3.SQLITE_OK

    driver.set_authorizer(refuse)
    return driver


async def test_a_rollback_that_fails_is_told_and_the_next_unit_has_a_fresh_connection(
    new_home: Home,
) -> None:
    def spoil(connection: sa.Connection) -> None:
        connection.execute(note("lost"))
        without_rollback(connection)
        raise Noted

    async with asyncio.timeout(10):
        with pytest.raises(Noted):
            await new_home.do(spoil)
        assert await attempt(new_home, "after") == "after"
    assert await noted(new_home) == ["after"]


async def test_a_store_whose_file_cannot_be_opened_again_tells_every_caller(
    new_home: Home, tmp_path: Path
) -> None:
    def spoil(connection: sa.Connection) -> None:
        without_rollback(connection)
        (tmp_path / "state.db").rename(tmp_path / "elsewhere")
        (tmp_path / "state.db").mkdir()
        raise Noted

    async with asyncio.timeout(30):
        with pytest.raises(Noted):
            await new_home.do(spoil)
        for _ in range(2):
            assert isinstance(await attempt(new_home, "k"), StoreError)
        (tmp_path / "state.db").rmdir()
        (tmp_path / "elsewhere").rename(tmp_path / "state.db")
        assert await attempt(new_home, "k") == "k"
