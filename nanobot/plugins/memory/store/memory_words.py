"""The full-text index of memories: FTS5 on SQLite, tsvector on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from nanobot.store.database.database import Database
from nanobot.store.database.prepared import Prepared

_FTS = Prepared(
    sa.text(
        "SELECT m.id FROM memories_fts JOIN memories m ON m.id = memories_fts.rowid "
        "WHERE memories_fts MATCH :q AND m.scope = :s AND m.state = 'active' "
        "ORDER BY bm25(memories_fts), m.id DESC LIMIT :n"
    )
)
# The number of matching words counts most; the length only breaks ties.
_TSV = Prepared(
    sa.text(
        "SELECT id FROM memories, to_tsquery('simple'::regconfig, :q) AS asked "
        "WHERE to_tsvector('simple'::regconfig, terms) @@ asked "
        "AND scope = :s AND state = 'active' "
        "ORDER BY ts_rank(to_tsvector('simple'::regconfig, terms), asked, 1) DESC, id DESC LIMIT :n"
    )
)


class WordIndex:
    """The databases maintain it themselves; this module only queries it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, scope: str, terms: Sequence[str], limit: int) -> list[int]:
        """The active memories of a scope that contain some of the terms, the best first."""
        if not terms:
            return []
        if self._database.dialect == "sqlite":
            query, expression = _FTS, " OR ".join(map(_quoted, terms))
        else:
            query, expression = _TSV, " | ".join(term.replace("*", ":*") for term in terms)
        values = {"q": expression, "s": scope, "n": limit}
        return await self._database.transact(
            lambda c: [identity for (identity,) in query.execute(c, values)]
        )


def _quoted(term: str) -> str:
    return f'"{term[:-1]}" *' if term.endswith("*") else f'"{term}"'
