"""Unreadable rows in the store of a running gateway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nanobot.messages import Address
from nanobot.plugins.quarantine.content import QuarantinedContent
from nanobot.plugins.quarantine.store import rows
from nanobot.session.quarantine import Quarantined
from nanobot.store.database.connection import Connection
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction


class SqlQuarantine(SqlStore):
    """The Quarantine port: the same code for SQLite and PostgreSQL."""

    @transaction()
    def listed(
        self,
        connection: Connection,
        *,
        tables: Sequence[str],
        session: str,
        restored: bool,
        limit: int,
    ) -> list[Quarantined]:
        """See Quarantine."""
        return rows.listed(
            connection, tables=tables, session=session, restored=restored, limit=limit
        )

    @transaction()
    def shown(self, connection: Connection, identity: int) -> QuarantinedContent:
        """See Quarantine."""
        return rows.shown(connection, identity)

    @transaction("quarantine_restore")
    def restore(
        self, unit: Unit, identity: int, values: Mapping[str, str]
    ) -> tuple[Quarantined, tuple[Address, ...]]:
        """See Quarantine."""
        row = rows.restore(unit, identity, values)
        return row, rows.owed_after(unit, identity)
