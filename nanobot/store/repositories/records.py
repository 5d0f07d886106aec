"""The Records over SQL: what people and programs read from the store, and the few changes they
make.
"""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.session.views import (
    Counts,
    RunView,
)
from nanobot.store.database import schema
from nanobot.store.database.database import Database
from nanobot.store.journal import runs as journal_runs
from nanobot.store.repositories import descendants, session_views, views
from nanobot.store.repositories import outbox as outbox_rows
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, bare_verb, verb

_s = schema.sessions


class SqlRecords(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    session = bare_verb(session_views.one)
    run = bare_verb(views.one_run)
    children = bare_verb(descendants.below)
    run_entries = bare_verb(views.run_entries)
    cancel = verb(journal_runs.cancel, "cancel")
    arrived = bare_verb(outbox_rows.arrived)

    _counted = bare_verb(views.counted)
    _some_chats = bare_verb(views.chats)

    def __init__(self, database: Database, writer: StoreContext) -> None:
        super().__init__(database, writer)
        self._run_lists = views.RunLists(database, writer)

    async def runs(
        self, *, session: str, state: str, limit: int, kind: str = "", find: str = ""
    ) -> list[RunView]:
        lists = self._run_lists
        return await lists.runs(session=session, state=state, limit=limit, kind=kind, find=find)

    async def counts(self) -> Counts:
        return Counts(**{name: await self._counted(name) for name in views.COUNTED})

    async def forget_prompts(self) -> int:
        forget = (
            sa.update(_s).where(_s.c.prompt.is_not(None)).values(prompt=None, prompt_variant=None)
        )
        return await self.database.transact(lambda c: c.execute(forget).rowcount, "forget_prompts")

    async def chats(self, channel: str) -> list[Address]:
        places: dict[Address, None] = {}
        before: str | None = ""
        while before is not None and len(places) < views.MOST_CHATS:
            some, before = await self._some_chats(channel, before)
            places |= dict.fromkeys(some)
        return list(places)[: views.MOST_CHATS]
