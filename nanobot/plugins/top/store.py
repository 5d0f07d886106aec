"""The work that waits in the store."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.top.moment import Load
from nanobot.store.database import schema
from nanobot.store.journal import runs
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_i = schema.inbound
_o = schema.outbound

_LOOKED_AT = 500


class Loads(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    @transaction()
    def now(self, unit: Unit) -> Load:
        """Pending work."""
        waiting = sa.select(_i.c.at).where(runs.PENDING).limit(_LOOKED_AT)
        owed = sa.select(_o.c.created_at).where(sa.and_(schema.OUTBOUND_OPEN)).limit(_LOOKED_AT)
        return Load(
            oldest_waiting=min(unit.scalars(waiting), default=None),
            oldest_owed=min(unit.scalars(owed), default=None),
            queued=max(unit.writer.units - 1, 0),  # without this one
        )
