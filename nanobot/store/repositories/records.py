"""The Records over SQL: what people and programs read from the store, and the few changes they
make.
"""

from __future__ import annotations

from nanobot.messages import Address
from nanobot.session.approvals import Approval, RuleView
from nanobot.session.views import Counts
from nanobot.store.journal import runs as journal_runs
from nanobot.store.repositories import approvals as approval_rows
from nanobot.store.repositories import descendants, views
from nanobot.store.verbs import SqlStore, bare_verb, verb


class SqlRecords(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    children = bare_verb(descendants.below)
    cancel = verb(journal_runs.cancel, "cancel")
    arrived = bare_verb(views.arrived)
    approval = bare_verb(approval_rows.one)
    seen = bare_verb(approval_rows.seen, "seen")
    forget_rule = bare_verb(approval_rows.forget, "forget_rule")

    _counted = bare_verb(views.counted)
    _some_approvals = bare_verb(approval_rows.listing)
    _some_asked_by = bare_verb(approval_rows.asked_by)
    _some_rules = bare_verb(approval_rows.rules)
    _some_chats = bare_verb(views.chats)

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

    async def chats(self, channel: str) -> list[Address]:
        places: dict[Address, None] = {}
        before: str | None = ""
        while before is not None and len(places) < views.MOST_CHATS:
            some, before = await self._some_chats(channel, before)
            places |= dict.fromkeys(some)
        return list(places)[: views.MOST_CHATS]
