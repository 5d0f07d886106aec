"""Background commands over SQL: which were running, so that a crash does not hide them."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.plugins.common.store import command_tables
from nanobot.plugins.shell.background import StartedCommand
from nanobot.store.database.results import as_struct
from nanobot.store.unit import Unit, store_now
from nanobot.store.verbs import SqlStore, transaction

_b = command_tables.background_commands
_RUNNING = _b.c.ended_at.is_(None)


class SqlBackgroundCommands(SqlStore):
    """See background.BackgroundRecords: the same code for SQLite and PostgreSQL."""

    @transaction("background_started")
    def started(self, unit: Unit, command: StartedCommand) -> int:
        """Store it; returns its id."""
        values = {
            "session_key": command.session_key,
            "channel": command.address.channel,
            "chat_id": command.address.chat_id,
            "thread_id": command.address.thread_id,
            "sender_id": command.sender_id,
            "role": command.role,
            "command": command.command,
            "owner": unit.writer.owner,
            "seen_at": store_now(unit),
        }
        return int(unit.scalar(sa.insert(_b).returning(_b.c.id), values) or 0)

    @transaction("background_ended")
    def ended(self, unit: Unit, identity: int) -> None:
        now = store_now(unit)
        unit.execute(sa.update(_b).where(_b.c.id == identity).values(ended_at=now))

    @transaction("background_beat")
    def beat(self, unit: Unit) -> None:
        mine = sa.update(_b).where(_b.c.owner == unit.writer.owner, _RUNNING)
        unit.execute(mine.values(seen_at=store_now(unit)))

    @transaction()
    def lost(self, unit: Unit, silent_for: float) -> list[StartedCommand]:
        """Commands whose process has ended. With SQLite the home's lock proves that no other
        process is alive.
        """
        others = sa.select(_b).where(_b.c.owner != unit.writer.owner, _RUNNING)
        query = others.order_by(_b.c.id)
        if unit.writer.lease is not None:
            silent = store_now(unit) - silent_for
            query = query.where(_b.c.seen_at < silent)
        return [
            as_struct(row, StartedCommand, address=Address(row.channel, row.chat_id, row.thread_id))
            for row in unit.execute(query)
        ]
