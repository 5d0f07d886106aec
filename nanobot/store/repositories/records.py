"""The Records over SQL: what people and programs read from the store, and the few changes they
make.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.session.approvals import Approval, RuleView
from nanobot.session.views import (
    Counts,
    RunView,
    SessionView,
)
from nanobot.store.database import schema
from nanobot.store.database.database import Database
from nanobot.store.journal import runs as journal_runs
from nanobot.store.repositories import approvals as approval_rows
from nanobot.store.repositories import descendants, session_views, views
from nanobot.store.repositories import outbox as outbox_rows
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, bare_verb, verb

_s = schema.sessions


class SqlRecords(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    session = bare_verb(session_views.one)
    run = bare_verb(views.one_run)
    run_ids = bare_verb(views.run_ids)
    children = bare_verb(descendants.below)
    run_entries = bare_verb(views.run_entries)
    cancel = verb(journal_runs.cancel, "cancel")
    arrived = bare_verb(outbox_rows.arrived)
    approval = bare_verb(approval_rows.one)
    seen = bare_verb(approval_rows.seen, "seen")
    forget_rule = bare_verb(approval_rows.forget, "forget_rule")

    _counted = bare_verb(views.counted)
    _some_approvals = bare_verb(approval_rows.listing)
    _some_asked_by = bare_verb(approval_rows.asked_by)
    _some_rules = bare_verb(approval_rows.rules)
    _some_chats = bare_verb(views.chats)

    def __init__(self, database: Database, writer: StoreContext) -> None:
        super().__init__(database, writer)
        self._lists = session_views.SessionLists(database, writer)
        self._run_lists = views.RunLists(database, writer)

    async def sessions(
        self, *, limit: int, unread: bool, skip: int = 0, keys: Collection[str] | None = None
    ) -> list[SessionView]:
        return await self._lists.newest(unread=unread, keys=keys, limit=limit, skip=skip)

    async def runs(
        self, *, session: str, state: str, limit: int, kind: str = "", find: str = ""
    ) -> list[RunView]:
        lists = self._run_lists
        return await lists.runs(session=session, state=state, limit=limit, kind=kind, find=find)

    async def counts(self) -> Counts:
        return Counts(**{name: await self._counted(name) for name in views.COUNTED})

    async def approvals(self, *, session: str, state: str, limit: int) -> list[Approval]:
        found: list[Approval] = []
        before: int | None = None
        while len(found) < limit:
            some, before = await self._some_approvals(session, state, limit - len(found), before)
            found += some
            if before is None:
                break
        return found

    async def asked_by(self, chat: Address, message_id: str) -> Approval | None:
        found, before = await self._some_asked_by(chat, message_id, None)
        while found is None and before is not None:
            found, before = await self._some_asked_by(chat, message_id, before)
        return found

    async def rules(self) -> list[RuleView]:
        found, before = await self._some_rules(None)
        while before is not None:
            some, before = await self._some_rules(before)
            found += some
        return found

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
