"""What triggers keep, over SQL; among it the new ids of chats that the configuration knows by their
old ones."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.store.database import schema
from nanobot.store.database.dialect import alone
from nanobot.store.database.sqlite import Database
from nanobot.store.unit import StoreContext

_k = schema.trigger_state

_MOST_MOVES = 8


class SqlTriggerState:
    """See triggers.events.keeping.Keeping: the same code for SQLite and PostgreSQL."""

    def __init__(self, database: Database, writer: StoreContext) -> None:
        self._database = database
        self._writer = writer

    async def kept(self, name: str) -> bytes | None:
        """What was kept last."""
        query = sa.select(_k.c.body).where(_k.c.name == name)
        return await self._database.transact(lambda c: c.scalar(query))

    async def keep(self, name: str, body: bytes) -> None:
        """Keep this instead."""
        now = self._writer.clock.now()
        await self._database.transact(lambda c: _keep(c, name, body, now), "keep")


def _keep(connection: sa.Connection, name: str, body: bytes, now: float) -> None:
    alone(connection, "kept")  # two at once would each find that nothing is there
    values = {"body": body, "changed_at": now}
    there = sa.update(_k).where(_k.c.name == name).values(**values)
    if connection.execute(there).rowcount == 0:
        connection.execute(sa.insert(_k).values(name=name, **values))


def chat_moved(connection: sa.Connection, old: Address, new: Address, now: float) -> None:
    """Remember the new id of a chat."""
    body = msgspec.json.encode(Address(new.channel, new.chat_id))
    _keep(connection, _moved(old), body, now)


def current_address(connection: sa.Connection, address: Address) -> Address:
    """Where a chat is now, whatever id the configuration knows it by."""
    for _ in range(_MOST_MOVES):
        body = connection.scalar(sa.select(_k.c.body).where(_k.c.name == _moved(address)))
        if body is None:
            break
        chat = msgspec.json.decode(body, type=Address)
        address = Address(chat.channel, chat.chat_id, address.thread_id)
    return address


def _moved(address: Address) -> str:
    return f"moved:{address.channel}:{address.chat_id}"
