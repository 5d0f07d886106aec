"""A power cut takes at most what did not wait for the disk, and takes it in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.plugins.library.store import Consuming
from nanobot.plugins.search.store.indexing import LogIndexing
from nanobot.store.database.durability import ORDERED, waits
from nanobot.store.database.sqlite import SqliteDatabase
from tests.store.crash_points import VERBS as OF_JOURNAL
from tests.store.crash_points import crash_points
from tests.store.power import commits

VERBS = (*OF_JOURNAL, "answer")

WAITING = sorted(set(VERBS) - ORDERED)


class Disk:
    """A store's files, and how each commit was made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.statements: list[str] = []

    def opened(self) -> SqliteDatabase:
        database = SqliteDatabase(self.folder / "state.db")
        database.run_now(lambda c: c.exec_driver_sql("CREATE TABLE t (n INTEGER)").close())
        database.run_now(lambda c: c.connection.driver_connection.set_trace_callback(self.note))  # type: ignore[union-attr]
        return database

    def note(self, statement: str) -> None:
        self.statements.append(statement)

    def rows_after(self, cut: int) -> list[int]:
        """What is in the store if the log ends at that byte."""
        left = self.folder / "left"
        left.mkdir(exist_ok=True)
        for name in ("state.db", "state.db-wal"):
            content = (self.folder / name).read_bytes()
            (left / name).write_bytes(content[:cut] if name.endswith("wal") else content)
        (left / "state.db-shm").unlink(missing_ok=True)
        with closing(sqlite3.connect(left / "state.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return [n for (n,) in connection.execute("SELECT n FROM t ORDER BY n")]


def insert(connection: sa.Connection, number: int) -> None:
    connection.exec_driver_sql(f"INSERT INTO t VALUES ({number})").close()


def synchronous(statements: list[str]) -> Iterator[str]:
    """How each commit was made."""
    now = "FULL"
    for statement in statements:
        if statement.startswith("PRAGMA synchronous="):
            now = statement.partition("=")[2]
        elif statement == "COMMIT":
            yield now


def test_every_verb_that_may_be_lost_is_one() -> None:
    assert {*VERBS, *crash_points(LogIndexing), *crash_points(Consuming)} >= ORDERED
    assert not waits(ORDERED)
    assert waits(["claim", "admit"])
    assert waits([""])


@pytest.mark.parametrize("verb", ["admit", "start_tool", "begin_send", "finish", "answer", "park"])
def test_what_acknowledges_or_precedes_an_effect_waits(verb: str) -> None:
    assert verb in WAITING


@pytest.mark.process
@given(
    verbs=st.lists(st.sampled_from(sorted({*VERBS, *ORDERED})), min_size=1, max_size=12),
    data=st.data(),
)
@settings(max_examples=25, deadline=None)
async def test_a_cut_takes_the_newest_and_nothing_that_waited(
    tmp_path_factory: pytest.TempPathFactory, verbs: list[str], data: st.DataObject
) -> None:
    disk = Disk(tmp_path_factory.mktemp("disk"))
    database = disk.opened()
    for number, verb in enumerate(verbs):
        await database.transact(partial(insert, number=number), verb)
    log = (disk.folder / "state.db-wal").read_bytes()
    ends = commits(log)[-len(verbs) :]
    made = list(synchronous(disk.statements))[-len(verbs) :]
    assert made == ["NORMAL" if verb in ORDERED else "FULL" for verb in verbs]
    synced = max((i for i, how in enumerate(made) if how == "FULL"), default=-1)
    first = ends[synced] if synced >= 0 else ends[0]
    cut = data.draw(st.integers(first, len(log)), label="where the log ends")
    kept = disk.rows_after(cut)
    assert kept == list(range(sum(end <= cut for end in ends)))
    assert len(kept) > synced
    await database.close()
