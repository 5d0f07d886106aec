"""The state of triggers, over SQL."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.store import trigger_tables
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_k = trigger_tables.trigger_state


class SqlTriggerState(SqlStore):
    """See TriggerState in plugins.common.trigger_state: the same code for SQLite and PostgreSQL."""

    @transaction()
    def kept(self, connection: Connection, name: str) -> bytes | None:
        body: bytes | None = connection.scalar(sa.select(_k.c.body).where(_k.c.name == name))
        return body

    @transaction("keep")
    def keep(self, unit: Unit, name: str, body: bytes) -> None:
        values = {"body": body, "changed_at": unit.now}
        alone(unit, "kept")  # two at once would each find that the row is missing
        there = sa.update(_k).where(_k.c.name == name).values(**values)
        if unit.execute(there).rowcount == 0:
            unit.execute(sa.insert(_k).values(name=name, **values))
