"""Indexes of FTS5: kept in few pieces by their writers, and cleaned of words that were removed."""

from __future__ import annotations

from functools import partial

import sqlalchemy as sa

from nanobot.store.database.prepared import Prepared
from nanobot.store.database.sqlite import Database

_CHANGES = sa.text("SELECT total_changes()")
_MERGED_PAGES = 64
_MERGED_PAGES_A_WRITE = 16
"""More than a write adds, so that the index stays in few pieces, and done in a millisecond."""


class FullText:
    """The index of that name. PostgreSQL has none of these and tends its own."""

    def __init__(self, name: str) -> None:
        index = sa.table(name, sa.column(name), sa.column("rank"))
        values = {name: "merge", "rank": sa.bindparam("pages")}
        self._merge = Prepared(sa.insert(index).values(values))

    def tend(self, connection: sa.Connection) -> None:
        """Rows were written: keep their index in few pieces."""
        if connection.dialect.name == "sqlite":
            self._merge.execute(connection, pages=_MERGED_PAGES_A_WRITE)

    async def forget(self, database: Database) -> None:
        """Leave no word of rows that are gone. FTS5 only notes beside a word that its row is gone,
        until all of the index is merged into one; each step takes few milliseconds."""
        if database.dialect == "sqlite":
            pages = -_MERGED_PAGES  # negative: the first step takes up all of the index
            while await database.transact(partial(self._step, pages=pages), "memory"):
                pages = _MERGED_PAGES

    def _step(self, connection: sa.Connection, pages: int) -> bool:
        """Whether there may be more to do. See https://sqlite.org/fts5.html#the_merge_command"""
        before = connection.scalar(_CHANGES)
        self._merge.execute(connection, pages=pages)
        return bool(connection.scalar(_CHANGES) - before >= 2)


MEMORIES, LOGS = FullText("memories_fts"), FullText("log_words_fts")
