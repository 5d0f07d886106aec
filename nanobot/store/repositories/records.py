"""The Records over SQL: what people and programs read of the store, and the little they change."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.errors import StoreCorrupt, UnknownId, UsageError
from nanobot.messages import Address
from nanobot.session.views import AuditView, ToolCallView
from nanobot.store.database import schema
from nanobot.store.database.sqlite import Database
from nanobot.store.journal import runs as journal_runs
from nanobot.store.repositories import approvals as approval_rows
from nanobot.store.repositories import feedback as feedback_rows
from nanobot.store.repositories import outbox as outbox_rows
from nanobot.store.repositories import session_views, views
from nanobot.store.repositories.eraser import Eraser
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, bare_verb, verb

_s = schema.sessions

_ALL = 1_000_000_000


class SqlRecords(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    counts = bare_verb(views.counts)
    sessions = bare_verb(session_views.newest)
    session = bare_verb(session_views.one)
    entries = bare_verb(views.entries)
    mark_read = verb(outbox_rows.mark_read, "mark_read")
    runs = bare_verb(views.run_list)
    run = bare_verb(views.one_run)
    run_ids = bare_verb(views.run_ids)
    run_entries = bare_verb(views.run_entries)
    cancel = verb(journal_runs.cancel, "cancel")
    outbox = bare_verb(views.outbox_list)
    owed = bare_verb(views.one_outbox)
    arrived = bare_verb(outbox_rows.arrived)
    retry = verb(outbox_rows.retry, "retry")
    drop = verb(outbox_rows.drop, "drop")
    approvals = bare_verb(approval_rows.listing)
    approval = bare_verb(approval_rows.one)
    asked_by = bare_verb(approval_rows.asked_by)
    rules = bare_verb(approval_rows.rules)
    forget_rule = bare_verb(approval_rows.forget, "forget_rule")

    judge = verb(feedback_rows.judge, "judge")
    feedback = bare_verb(feedback_rows.listing)

    _chain = bare_verb(views.chain)
    _contains = bare_verb(views.contains)
    _some_chats = bare_verb(views.chats)
    _some_tool_calls = bare_verb(views.tool_calls)

    def __init__(self, database: Database, writer: StoreContext, eraser: Eraser) -> None:
        super().__init__(database, writer)
        self._eraser = eraser

    async def delete(self, key: str) -> int:
        return await self._eraser.delete(key)

    async def erase(self, session_key: str, seq: int, by: str) -> None:
        await self._eraser.erase(session_key, seq, by)

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

    async def tool_calls(self, *, session: str, name: str, limit: int) -> list[ToolCallView]:
        calls: list[ToolCallView] = []
        before: str | None = ""
        for _ in range(views.MOST_RUNS // views.RUNS_AT_ONCE):
            if before is None or len(calls) >= limit:
                break
            some, before = await self._some_tool_calls(session, name, before)
            calls += some
        return calls[:limit]

    async def audit(self, session: str, head: str) -> list[AuditView]:
        """Walk the chains, a session at a time: others may write in between."""
        keys = [session]
        if not session:
            keys = [
                session_row.key for session_row in await self.sessions(limit=_ALL, unread=False)
            ]
        elif await self.session(session) is None:
            raise UnknownId(f"there is no session {session}")
        walked = [await self._chain(key) for key in keys]
        if head:
            digest = _bytes(head)
            held = [await self._contains(key, digest) for key in keys]
            if not any(held):
                raise StoreCorrupt(f"no log contains the head {head}: the tail of one was cut")
        return walked


def _bytes(head: str) -> bytes:
    try:
        return bytes.fromhex(head)
    except ValueError:
        raise UsageError(f"{head[:80]!r} is not a head: 64 hexadecimal digits are") from None
