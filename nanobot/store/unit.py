"""What every verb works with: the connection, the moment, and whoever is writing."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.ports import Clock, Ids


class Writer:
    """Who writes: one process (or one worker) with its clock and its source of ids.

    `lease` None means that the process lock is the lease: a lane of ours never expires, a lane of
    anybody else is dead. Otherwise leases last that many seconds by the database's clock.
    """

    def __init__(self, clock: Clock, ids: Ids, owner: str, lease: float | None = None) -> None:
        self.clock = clock
        self.ids = ids
        self.owner = owner
        self.lease = lease


def store_now(connection: sa.Connection, writer: Writer) -> float:
    """The time that leases are measured by: PostgreSQL's own where several processes share it."""
    if writer.lease is None:
        return writer.clock.now()
    return float(connection.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")) or 0.0)
