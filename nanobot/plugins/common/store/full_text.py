"""FTS5 indexes: their writers keep them in few segments."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared

_MERGED_PAGES_A_WRITE = 16
"""More than a write adds, so that the index stays in few segments, and done in a millisecond."""


class FullText:
    """A full-text index of SQLite. PostgreSQL maintains its indexes without this class."""

    def __init__(self, name: str) -> None:
        index = sa.table(name, sa.column(name), sa.column("rank"))
        values = {name: "merge", "rank": sa.bindparam("pages")}
        self._merge = Prepared(sa.insert(index).values(values))

    def tend(self, connection: Connection) -> None:
        """Rows were written: keep their index in few segments."""
        if connection.dialect.name == "sqlite":
            self.merge(connection, _MERGED_PAGES_A_WRITE)

    def merge(self, connection: Connection, pages: int) -> None:
        """Merge segments, about so many pages at once; negative: begin with the whole index. See
        https://sqlite.org/fts5.html#the_merge_command
        """
        self._merge.execute(connection, pages=pages)


MEMORIES, LOGS = FullText("memories_fts"), FullText("log_words_fts")
