"""Words from process to process over PostgreSQL: they arrive, also on a line that was cut."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from nanobot.plugins.postgres.store.identity import life_lock
from nanobot.plugins.postgres.store.notices import MAX_BYTES, SILENT_SECONDS, Notices
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.system import SystemClock
from tests.store.conftest import Postgres


class Line:
    """What one process hears."""

    def __init__(self, notices: Notices) -> None:
        self.notices = notices
        self.heard: list[str] = []
        self.begun = 0

    async def until(self, *texts: str) -> None:
        async with asyncio.timeout(20):
            while [text for text in self.heard if text in texts] != list(texts):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def stands(self, times: int) -> None:
        async with asyncio.timeout(SILENT_SECONDS + 20):
            while self.begun < times:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    def count(self) -> None:
        self.begun += 1


@asynccontextmanager
async def listening(url: str, owner: str) -> AsyncIterator[Line]:
    database = PostgresDatabase(url, workers=1)
    line = Line(Notices(database, owner))
    hearing = line.notices.listen(line.heard.append, line.count, SystemClock())
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(hearing)
        try:
            await line.stands(1)
            yield line
        finally:
            task.cancel()
            await database.close()


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.empty()


async def test_everybody_hears_what_is_for_all_and_one_what_is_for_it(url: str) -> None:
    async with listening(url, "one") as first, listening(url, "two") as second:
        longest = "x" * MAX_BYTES
        await first.notices.send([("", "hello"), (second.notices.own, longest), ("", "good bye")])
        await second.until("hello", longest, "good bye")
        await first.until("hello", "good bye")
        assert longest not in first.heard


async def test_a_line_that_was_cut_stands_again(url: str) -> None:
    async with listening(url, "one") as first, listening(url, "two") as second:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            )
        await second.stands(2)
        await first.stands(2)
        await first.notices.send([("", "again")])
        await second.until("again")


async def test_assistants_in_two_schemas_of_one_database_do_not_hear_each_other(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA ann")
    other = f"{url}&options=-csearch_path%3Dann"
    async with listening(url, "one") as first, listening(other, "two") as second:
        await first.notices.send([("", "hello")])
        await second.notices.send([("", "who is there")])
        await first.until("hello")
        await second.until("who is there")
        assert first.heard == ["hello"]
        assert second.heard == ["who is there"]


@pytest.mark.slow
async def test_a_line_on_which_nothing_is_heard_is_begun_anew(url: str) -> None:
    async with listening(url, "one") as listener:
        await listener.stands(2)
        await listener.notices.send([("", "hello")])
        await listener.until("hello")


class CountingSelector(selectors.DefaultSelector):
    """How often an event loop woke up."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = 0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(timeout)
        self.woken += timeout is None or timeout > 0
        return found


@pytest.mark.process
def test_a_process_that_listens_sleeps_until_something_is_said(url: str) -> None:
    """psycopg's own way to wait wakes the event loop ten times a second."""
    selector = CountingSelector()

    async def listens() -> int:
        async with listening(url, "one") as first:
            before = selector.woken
            await asyncio.sleep(2.0)
            woken = selector.woken - before
            await first.notices.send([("", "hello")])
            await first.until("hello")
        return woken

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        assert runner.run(listens()) <= 3


async def test_a_process_that_listens_holds_the_lock_that_says_so(url: str) -> None:
    query = "SELECT pg_try_advisory_lock(%s)"
    async with listening(url, "one") as first:
        with psycopg.connect(url, autocommit=True) as admin:
            for name, free in ((first.notices.own, False), ("0", True)):
                assert admin.execute(query, (life_lock(name),)).fetchone() == (free,)
