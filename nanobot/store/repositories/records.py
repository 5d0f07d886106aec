"""The Records over SQL: what people and programs read from the store, and the few changes they
make.
"""

from __future__ import annotations

from nanobot.messages import Address
from nanobot.session.views import Counts
from nanobot.store.journal import runs as journal_runs
from nanobot.store.repositories import descendants, views
from nanobot.store.verbs import SqlStore, verb


class SqlRecords(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    children = verb(descendants.below)
    cancel = verb(journal_runs.cancel, "cancel")
    arrived = verb(views.arrived)

    _counted = verb(views.counted)
    _some_chats = verb(views.chats)

    async def counts(self) -> Counts:
        return Counts(**{name: await self._counted(name) for name in views.COUNTED})

    async def chats(self, channel: str) -> list[Address]:
        places: dict[Address, None] = {}
        before: str | None = ""
        while before is not None and len(places) < views.MOST_CHATS:
            some, before = await self._some_chats(channel, before)
            places |= dict.fromkeys(some)
        return list(places)[: views.MOST_CHATS]
