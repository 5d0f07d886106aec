"""Verifies the chains of logs, in short transactions, so that others may write in between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import sqlalchemy as sa

from nanobot.errors import StoreCorrupt, UnknownId, UsageError
from nanobot.plugins.common.store import erasures
from nanobot.plugins.common.store.chain import ChainState, continued
from nanobot.plugins.proof.views import AuditView
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, transaction

_s = schema.sessions
_q = schema.quarantine

_LINKS = 400
"""The entries that one transaction verifies, and the sessions that one lists."""


class Walk(NamedTuple):
    """The position of a chain check. `made_at` distinguishes a session from a later one with the
    same name.
    """

    made_at: float
    state: ChainState


class Chains(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    async def verified(self, session: str, head: str) -> list[AuditView]:
        """Check every chain (or one session's). Raises StoreCorrupt for an invalid one, or if no
        checked log contains `head` (hex; "": do not look for one)."""
        sought = _bytes(head) if head else None
        verified: list[AuditView] = []
        found = False
        async for key in self._wanted(session):
            walk = await self._walked(key, sought, None)
            while walk is not None and not walk.state.ended:
                walk = await self._walked(key, sought, walk)
            if walk is not None:  # otherwise it was removed in the meantime
                state, found = walk.state, found or walk.state.contains_head
                verified.append(
                    AuditView(session_key=key, entries=state.count, head=state.link.hex())
                )
        aside = await self._put_aside(session)
        if aside is not None:  # the log mentions it, but it was not erased
            raise StoreCorrupt(f"entry {aside[0]} is in quarantine: {aside[1]}")
        if head and not found:
            raise StoreCorrupt(f"no log contains the head {head}: the tail of one was cut")
        return verified

    async def _wanted(self, session: str) -> AsyncIterator[str]:
        """The sessions to verify: the given one, or all. Raises UnknownId."""
        if session:
            if not await self._exists(session):
                raise UnknownId(f"there is no session {session}")
            yield session
            return
        after = ""
        while keys := await self._some_keys(after):
            after = keys[-1]
            for key in keys:
                yield key

    @transaction()
    def _exists(self, connection: Connection, key: str) -> bool:
        return connection.scalar(sa.select(_s.c.key).where(_s.c.key == key)) is not None

    @transaction()
    def _some_keys(self, connection: Connection, after: str) -> list[str]:
        """The names of the next sessions, some at a time."""
        query = sa.select(_s.c.key).where(_s.c.key > after).order_by(_s.c.key).limit(_LINKS)
        return list(connection.scalars(query))

    @transaction()
    def _walked(
        self, connection: Connection, key: str, head: bytes | None, walk: Walk | None
    ) -> Walk | None:
        """Continue the check of a chain by some entries; None if its session has been removed.
        Raises StoreCorrupt if the chain does not hold.
        """
        going = sa.select(erasures.erasures.c.name).where(
            erasures.erasures.c.kind == erasures.SESSION, erasures.erasures.c.name == key
        )
        made_at = connection.scalar(sa.select(_s.c.created_at).where(_s.c.key == key))
        if made_at is None or connection.scalar(going) is not None:
            return None
        if walk is not None and walk.made_at != made_at:
            return None
        state = ChainState(key, head) if walk is None else walk.state
        try:
            return Walk(made_at, continued(connection, state, _LINKS))
        except TypeError:  # SQLite stores text in a bytes column if a program writes text
            raise StoreCorrupt(f"the log of {key} holds what nanobot never wrote") from None

    @transaction()
    def _put_aside(self, connection: Connection, session: str) -> tuple[str, str] | None:
        """The first log entry in quarantine, and why; of one session, or of all ("")."""
        query = sa.select(_q.c.row_key, _q.c.reason)
        query = query.where(_q.c.of_table == "entries", _q.c.state != "restored")
        if session:
            query = query.where(_q.c.session_key == session)
        row = connection.execute(query.order_by(_q.c.id).limit(1)).first()
        return None if row is None else (row.row_key, row.reason)


def _bytes(head: str) -> bytes:
    try:
        return bytes.fromhex(head)
    except ValueError:
        raise UsageError(f"{head[:80]!r} is not a head: 64 hexadecimal digits are") from None
