"""The conversations of a store, as people list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from nanobot.search.conversations import Filter, MessageSearch
from nanobot.session.views import RunView, SessionView
from nanobot.store.database.database import Database
from nanobot.store.repositories import blob_references, session_views, views
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, bare_verb


class SqlConversations(SqlStore):
    """See search.conversations.Conversations: the same for SQLite and PostgreSQL. Without
    `messages`, lists find conversations by name and title alone.
    """

    rename = bare_verb(session_views.rename, "rename")
    pin = bare_verb(session_views.pin, "pin")
    archive = bare_verb(session_views.archive, "set_archived")

    keys = bare_verb(views.keys_of)
    _names_file = bare_verb(blob_references.is_named)

    def __init__(
        self, database: Database, writer: StoreContext, messages: MessageSearch | None = None
    ) -> None:
        super().__init__(database, writer)
        self._run_lists = views.RunLists(database, writer)
        self._lists = session_views.SessionLists(database, writer)
        self.messages = messages

    async def listed(self, which: Filter, *, limit: int, skip: int = 0) -> list[SessionView]:
        found: Mapping[str, str] = {}
        if which.find and self.messages is not None:
            found = await self.messages.saying(which.find, keys=which.keys)
        rows = await self._lists.listed(which, tuple(found), limit, skip)
        return [
            msgspec.structs.replace(row, found=found[row.key]) if row.key in found else row
            for row in rows
        ]

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
