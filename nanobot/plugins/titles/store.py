"""The titles that a model gives conversations: their source text, and how they are stored."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import TERMINAL, Origin
from nanobot.plugins.common.session_keys import ONCE
from nanobot.plugins.common.store import search_tables
from nanobot.plugins.common.store.after_runs import SqlAfterRuns
from nanobot.plugins.common.store.session_views import SILENT
from nanobot.plugins.titles.titling import Untitled
from nanobot.session.entries import Entry, ReplyEntry, UserEntry
from nanobot.session.keys import is_fork
from nanobot.session.store_write import StoreWrite
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.journal import log
from nanobot.store.verbs import transaction

_s = schema.sessions
_m = search_tables.session_marks

_e = schema.entries
_LOOKED_AT = 500
"""Entries of an old conversation to read: its title is made from the last of them."""


class SqlTitles(SqlAfterRuns):
    """See titling.Titles: the same code for SQLite and PostgreSQL."""

    @transaction()
    def untitled(self, connection: Connection, session_key: str) -> Untitled | None:
        query = sa.select(_s.c.model, _s.c.head_seq, _m.c.title_by).where(_s.c.key == session_key)
        row = connection.execute(query.outerjoin(_m, _m.c.session_key == _s.c.key)).first()
        if row is None or row.title_by or session_key in SILENT or _once(session_key):
            return None
        entries = log.read(connection, session_key, max(row.head_seq - _LOOKED_AT, 0))
        message = next((entry for entry in entries if _asks(entry)), None)
        if message is None:
            return None
        answers = (e for e in entries if e.run_id == message.run_id and _answers(e))
        answer = next(answers, None)
        if answer is None:
            return None
        return Untitled(
            session_key=session_key,
            run_id=message.run_id,
            upto=answer.seq,
            question=getattr(message.body, "text", ""),
            answer=getattr(answer.body, "text", ""),
            model=row.model,
        )

    @transaction("title")
    def keep(
        self, connection: Connection, untitled: Untitled, title: str, call: StoreWrite
    ) -> None:
        key = untitled.session_key
        call.write(connection)
        if log.HEAD.execute(connection, k=key).first() is None:  # locked, see log.HEAD
            return
        by = connection.scalar(sa.select(_m.c.title_by).where(_m.c.session_key == key))
        erased = sa.select(_e.c.seq).where(
            _e.c.session_key == key,
            _e.c.run_id == untitled.run_id,
            _e.c.seq <= untitled.upto,
            _e.c.payload.is_(None),
        )
        if by or connection.execute(erased).first() is not None:
            return
        insert_ignore(connection, _m, {"session_key": key})
        made = {"title_by": "model", "title_upto": untitled.upto}
        connection.execute(sa.update(_m).where(_m.c.session_key == key).values(**made))
        connection.execute(sa.update(_s).where(_s.c.key == key).values(title=title))


def _once(key: str) -> bool:
    """Whether a single message from the shell began it, or it is a fork, which has a
    title. Few such conversations are continued."""
    return is_fork(key) or (key.startswith(f"{TERMINAL}:") and f"-{ONCE}-" in key)


def _asks(entry: Entry) -> bool:
    body = entry.body
    people = isinstance(body, UserEntry) and body.origin in (Origin.USER, Origin.API)
    return people and isinstance(body, UserEntry) and body.command is None and bool(body.text)


def _answers(entry: Entry) -> bool:
    body = entry.body
    return isinstance(body, ReplyEntry) and not body.partial and bool(body.text)
