"""The conversations of a store, for those who see some of them only."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.session.views import RunView
from nanobot.store.database.database import Database
from nanobot.store.repositories import blob_references, views
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, bare_verb


class SqlConversations(SqlStore):
    """See search.conversations.Conversations: the same for SQLite and PostgreSQL."""

    keys = bare_verb(views.keys_of)
    _names_file = bare_verb(blob_references.is_named)

    def __init__(self, database: Database, writer: StoreContext) -> None:
        super().__init__(database, writer)
        self._run_lists = views.RunLists(database, writer)

    async def runs(
        self,
        *,
        session: str,
        state: str,
        limit: int,
        kind: str = "",
        find: str = "",
        within: Sequence[str] | None = None,
    ) -> list[RunView]:
        return await self._run_lists.runs(
            session=session, state=state, limit=limit, kind=kind, find=find, within=within
        )

    async def names_file(self, key: str, chat: str, digest: str) -> bool:
        place: blob_references.Place | None = blob_references.Place()
        while place is not None:
            named, place = await self._names_file(key, chat, digest, place)
            if named:
                return True
        return False
