"""FTS5 indexes: their writers keep them in few segments, and purge removed words."""

from __future__ import annotations

from functools import partial

import sqlalchemy as sa

from nanobot.store.database.database import Database
from nanobot.store.database.prepared import Prepared

_CHANGES = sa.text("SELECT total_changes()")
_MERGED_PAGES = 64
_MERGED_PAGES_A_WRITE = 16
"""More than a write adds, so that the index stays in few segments, and done in a millisecond."""


class FullText:
    """A full-text index of SQLite. PostgreSQL maintains its indexes without this class."""

    def __init__(self, name: str) -> None:
        index = sa.table(name, sa.column(name), sa.column("rank"))
        values = {name: "merge", "rank": sa.bindparam("pages")}
        self._merge = Prepared(sa.insert(index).values(values))

    def tend(self, connection: sa.Connection) -> None:
        """Rows were written: keep their index in few segments."""
        if connection.dialect.name == "sqlite":
            self._merge.execute(connection, pages=_MERGED_PAGES_A_WRITE)

    async def forget(self, database: Database) -> None:
        """Purge all terms of removed rows. FTS5 only marks a removed row's terms until the whole
        index is merged into one segment; each step takes a few milliseconds.
        """
        if database.dialect == "sqlite":
            pages = -_MERGED_PAGES  # negative: the first step includes the whole index
            while await database.transact(partial(self._step, pages=pages), "memory"):
                pages = _MERGED_PAGES

    def _step(self, connection: sa.Connection, pages: int) -> bool:
        """Whether there may be more to do. See https://sqlite.org/fts5.html#the_merge_command"""
        before = connection.scalar(_CHANGES)
        self._merge.execute(connection, pages=pages)
        return bool(connection.scalar(_CHANGES) - before >= 2)


MEMORIES, LOGS = FullText("memories_fts"), FullText("log_words_fts")
