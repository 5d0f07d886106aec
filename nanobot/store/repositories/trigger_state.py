"""What triggers keep, over SQL."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database import schema
from nanobot.store.database.dialect import alone
from nanobot.store.database.sqlite import Database
from nanobot.store.unit import StoreContext

_k = schema.trigger_state


class SqlTriggerState:
    """See triggers.events.state.TriggerState: the same code for SQLite and PostgreSQL."""

    def __init__(self, database: Database, writer: StoreContext) -> None:
        self._database = database
        self._writer = writer

    async def kept(self, name: str) -> bytes | None:
        query = sa.select(_k.c.body).where(_k.c.name == name)
        return await self._database.transact(lambda c: c.scalar(query))

    async def keep(self, name: str, body: bytes) -> None:
        values = {"body": body, "changed_at": self._writer.clock.now()}

        def write(connection: sa.Connection) -> None:
            alone(connection, "kept")  # two at once would each find that nothing is there
            there = sa.update(_k).where(_k.c.name == name).values(**values)
            if connection.execute(there).rowcount == 0:
                connection.execute(sa.insert(_k).values(name=name, **values))

        await self._database.transact(write, "keep")
