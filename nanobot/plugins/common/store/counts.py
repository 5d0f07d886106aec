"""How much is in a store."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import sqlalchemy as sa

from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.journal import runs
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_o = schema.outbound
_r = schema.runs

_COUNTED: Mapping[str, tuple[sa.Table, sa.ColumnElement[bool]]] = {
    "sessions": (schema.sessions, sa.true()),
    "waiting": (schema.inbound, runs.PENDING),
    "asked": (_r, sa.and_(schema.RUN_LIVE, _r.c.state == RunState.AWAITING_HUMAN)),
    "owed": (_o, sa.and_(schema.OUTBOUND_OPEN)),
    "dead": (_o, sa.and_(schema.OUTBOUND_DEAD)),
    "unreadable": (schema.quarantine, schema.quarantine.c.state != "restored"),
}
"""The fields of Counts: the rows of a table for which that holds."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Number of sessions, messages waiting for a run, runs waiting for a person, unsent messages,
    failed messages, and rows that could not be read."""

    sessions: int
    waiting: int
    asked: int
    owed: int
    dead: int
    unreadable: int = 0


class StoreCounts(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    async def counts(self) -> Counts:
        """How many rows of each kind there are."""
        return Counts(**{name: await self._counted(name) for name in _COUNTED})

    @transaction()
    def _counted(self, unit: Unit, name: str) -> int:
        table, where = _COUNTED[name]
        return unit.scalar(sa.select(sa.func.count()).select_from(table).where(where)) or 0
