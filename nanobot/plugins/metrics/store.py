"""Metrics read from the store on request: ages, counts and sizes, over SQL."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.store import lease_tables
from nanobot.plugins.metrics.meter import Ended
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import runs
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_i, _o, _r, _s = schema.inbound, schema.outbound, schema.runs, schema.sessions
_SIZES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}
MOST_RUNS = 500


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the store, by channel; ages in seconds."""

    oldest_waiting: dict[str, float]
    oldest_unsent: dict[str, float]
    dead: dict[str, float]
    lanes: int
    channels: int
    size: int


class RunTimes(msgspec.Struct, frozen=True, kw_only=True):
    """When a run was requested, when it began, and when its answer was delivered; None: not, or not
    yet. `owed`: its answer is still to be delivered.
    """

    asked: float | None
    began: float | None
    received: float | None
    owed: bool


class MetricsStore(SqlStore):
    """Queries of the store, one transaction each."""

    @transaction()
    def standing(self, unit: Unit) -> Standing:
        """The current state."""
        now = unit.now

        def by_channel(
            value: sa.ColumnElement[Any], of: sa.Table, where: sa.ColumnElement[bool]
        ) -> dict[str, float]:
            query = sa.select(of.c.channel, value).where(where).group_by(of.c.channel)
            return {channel: float(found) for channel, found in unit.execute(query)}

        def ages(
            at: sa.Column[float], of: sa.Table, where: sa.ColumnElement[bool]
        ) -> dict[str, float]:
            first = by_channel(sa.func.min(at), of, where)
            return {channel: max(now - at, 0.0) for channel, at in first.items()}

        held = sa.select(sa.func.count()).select_from(_r.join(_s, _s.c.key == _r.c.session_key))
        leases = lease_tables.channel_leases
        channels = sa.select(sa.func.count()).where(
            leases.c.owner.is_not(None), leases.c.until > now
        )
        due = sa.and_(runs.PENDING, _i.c.not_before <= now)
        return Standing(
            oldest_waiting=ages(_i.c.at, _i, due),
            oldest_unsent=ages(_o.c.created_at, _o, sa.and_(schema.OUTBOUND_OPEN)),
            dead=by_channel(sa.func.count(), _o, sa.and_(schema.OUTBOUND_DEAD)),
            lanes=unit.scalar(held.where(schema.RUN_LIVE, _s.c.owner.is_not(None))) or 0,
            channels=unit.scalar(channels) or 0,
            size=unit.scalar(sa.text(_SIZES[self.database.dialect])) or 0,
        )

    @transaction()
    def times(self, connection: Connection, ended: list[Ended]) -> list[RunTimes]:
        """The times of these runs, in the same order; each is looked up by its key."""
        messages = sorted({number for run in ended for number in run.inbound_ids[:1]})
        query = sa.select(_i.c.id, _i.c.at).where(_i.c.id.in_(messages))
        asked = {number: float(at) for number, at in connection.execute(query)}
        ids = [run.run_id for run in ended]
        begins = sa.select(_r.c.id, _r.c.created_at).where(_r.c.id.in_(ids))
        began = {run_id: float(at) for run_id, at in connection.execute(begins)}
        keys = [run.reply_key for run in ended]
        receipts = sa.select(_o.c.key, _o.c.state, _o.c.settled_at).where(_o.c.key.in_(keys))
        answers = {key: (state, at) for key, state, at in connection.execute(receipts)}
        return [
            RunTimes(
                asked=asked.get(run.inbound_ids[0]) if run.inbound_ids else None,
                began=began.get(run.run_id),
                received=at if state == "sent" else None,
                owed=state in ("pending", "sending"),
            )
            for run in ended
            for state, at in (answers.get(run.reply_key, ("", None)),)
        ]
