"""Searches conversations: rows of the index become hits, each with its sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from nanobot.addresses import called
from nanobot.errors import RowUnreadable
from nanobot.plugins.search.excerpt import excerpt
from nanobot.plugins.search.hits import SearchHit
from nanobot.plugins.search.query import Wanted, parsed
from nanobot.plugins.search.store import log_words
from nanobot.plugins.search.store.indexing import said_in
from nanobot.session import entries as log_entries
from nanobot.session.entries import UserEntry
from nanobot.store.database.database import Database
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, verb

_LAST = 2**62
_LISTED = 300
"""The latest hits from which a list of conversations is made."""


class LogSearch(SqlStore):
    """Over one store. `redact` replaces known secrets."""

    _find = verb(log_words.find)

    def __init__(
        self, database: Database, writer: StoreContext, redact: Callable[[str], str]
    ) -> None:
        super().__init__(database, writer)
        self._redact = redact

    async def search(
        self, query: str, *, keys: Collection[str] | None, before: int, limit: int
    ) -> list[SearchHit]:
        """See Search."""
        wanted = parsed(query)
        if not wanted or (keys is not None and not keys):
            return []
        only = None if keys is None else sorted(set(keys))
        rows = await self._find(wanted, only, before or _LAST, limit)
        return await asyncio.to_thread(self._hits, rows, wanted)

    async def saying(self, find: str, *, keys: Collection[str] | None) -> Mapping[str, str]:
        """See MessageSearch."""
        found: dict[str, str] = {}
        for hit in await self.search(find, keys=keys, before=0, limit=_LISTED):
            found.setdefault(hit.session_key, hit.sentence)
        return found

    def _hits(self, rows: Sequence[Any], wanted: Sequence[Wanted]) -> list[SearchHit]:
        # A long entry has several rows.
        entries = {(row.session_key, row.seq): row for row in reversed(rows)}
        hits = [self._hit(row, wanted) for row in entries.values() if row.payload is not None]
        return sorted((hit for hit in hits if hit is not None), key=lambda hit: -hit.id)

    def _hit(self, row: Any, wanted: Sequence[Wanted]) -> SearchHit | None:
        payload = bytes(row.payload)
        try:
            body = log_entries.decode(payload)
        except RowUnreadable:  # reading its conversation moves it to quarantine
            return None
        by = called(body.sender_name, body.sender_id) if isinstance(body, UserEntry) else ""
        found = excerpt(self._redact(said_in(payload)), wanted)
        return SearchHit(
            id=row.id,
            session_key=row.session_key,
            title=row.title,
            seq=row.seq,
            run_id=row.run_id,
            at=row.at,
            kind=log_entries.kind_of(body),
            by=by,
            before=found.before,
            match=found.match,
            after=found.after,
        )
