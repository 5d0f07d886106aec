"""The Records over SQL: what people and programs read from the store, and the few changes they
make.
"""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import runs
from nanobot.store.verbs import SqlStore, verb

_r = schema.runs
_o = schema.outbound
_p = schema.outbound_parts

MOST_CHATS = 1_000
_CHATS_AT_ONCE = 300
_LATELY = 10_000
"""The number of messages searched for a receipt that has no index."""


def chats(connection: Connection, channel: str, before: str) -> tuple[list[Address], str | None]:
    """The chats from which some runs of a channel were requested, the latest first, before a given
    run ("": from the latest), and the last run read, None at the end.
    """
    query = sa.select(_r.c.id, _r.c.channel, _r.c.chat_id, _r.c.thread_id)
    query = query.order_by(_r.c.id.desc()).limit(_CHATS_AT_ONCE)
    rows = connection.execute(query.where(_r.c.id < before) if before else query).all()
    addresses = [Address(channel, chat, thread) for _, of, chat, thread in rows if of == channel]
    return addresses, rows[-1].id if len(rows) == _CHATS_AT_ONCE else None


def arrived(connection: Connection, channel: str, message_ids: tuple[str, ...]) -> list[str]:
    """Those of these ids of a platform that are parts of a recently sent message of ours."""
    latest = sa.select(sa.func.max(_o.c.id)).scalar_subquery()
    query = (
        sa.select(_p.c.receipt)
        .join(_o, _o.c.id == _p.c.outbound_id)
        .where(
            _p.c.outbound_id > latest - _LATELY,
            _p.c.receipt.in_(message_ids),
            _o.c.channel == channel,
        )
    )
    return list(connection.scalars(query))


def below(connection: Connection, session_key: str, sender_id: str | None) -> list[str]:
    """The live runs that were started in a session, and their descendants, even of runs that have
    ended.
    """
    theirs = sa.true() if sender_id is None else _r.c.sender_id == sender_id
    begun = sa.select(_r.c.id, _r.c.session_key).where(_r.c.parent_session == session_key, theirs)
    all_of = begun.cte("below", recursive=True)
    more = sa.select(_r.c.id, _r.c.session_key).where(
        _r.c.parent_session == all_of.c.session_key, theirs
    )
    all_of = all_of.union(more)
    live = sa.select(_r.c.id).where(_r.c.id.in_(sa.select(all_of.c.id)), schema.RUN_LIVE)
    return list(connection.scalars(live.order_by(_r.c.created_at, _r.c.id)))


class SqlRecords(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    children = verb(below)
    cancel = verb(runs.cancel, "cancel")
    arrived = verb(arrived)

    _some_chats = verb(chats)

    async def chats(self, channel: str) -> list[Address]:
        places: dict[Address, None] = {}
        before: str | None = ""
        while before is not None and len(places) < MOST_CHATS:
            some, before = await self._some_chats(channel, before)
            places |= dict.fromkeys(some)
        return list(places)[:MOST_CHATS]
