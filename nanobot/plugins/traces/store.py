"""The runs whose spans are still to be sent, over SQL."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable
from nanobot.plugins.traces.span import Sent
from nanobot.session.entries import Entry, decode
from nanobot.session.runs import Run
from nanobot.store.database import schema
from nanobot.store.journal import runs
from nanobot.store.verbs import SqlStore, transaction

_r, _e, _o = schema.runs, schema.entries, schema.outbound
_RUNS = 50
_MOST_ENTRIES = 5_000
_SETTLE_SECONDS = 120.0
"""How long the spans of an ended run wait for the receipts of its answers."""


class Progress(msgspec.Struct, frozen=True):
    """The position: all runs up to `after` were sent, except those in `open`."""

    after: str = ""
    open: tuple[str, ...] = ()


class TracedRun(msgspec.Struct, frozen=True):
    """An ended run, with all that is known about it."""

    run: Run
    entries: list[Entry]
    sent: list[Sent]


class TracedRuns(SqlStore):
    """Reads a gateway's runs for their traces."""

    @transaction()
    def newest(self, connection: sa.Connection) -> str:
        """The run that began last; "" if there is none."""
        return connection.scalar(sa.select(sa.func.max(_r.c.id))) or ""

    @transaction()
    def following(self, connection: sa.Connection, progress: Progress) -> list[str]:
        """The ids of the next runs, in order."""
        query = sa.select(_r.c.id).where(_r.c.id > progress.after).order_by(_r.c.id).limit(_RUNS)
        return list(connection.scalars(query))

    @transaction()
    def ended(self, connection: sa.Connection, among: tuple[str, ...]) -> list[str]:
        """Those of these runs that can be sent now: they and their deliveries have ended."""
        now = self.writer.clock.now()
        owed = sa.exists().where(_o.c.run_id == _r.c.id, schema.OUTBOUND_OPEN)
        late = sa.or_(_r.c.ended_at < now - _SETTLE_SECONDS, _r.c.ended_at > now)
        query = sa.select(_r.c.id).where(
            _r.c.id.in_(among), _r.c.ended_at.is_not(None), sa.or_(late, ~owed)
        )
        return list(connection.scalars(query.order_by(_r.c.id)))

    @transaction()
    def there(self, connection: sa.Connection, among: tuple[str, ...]) -> list[str]:
        """Those of these runs that still exist."""
        return list(connection.scalars(sa.select(_r.c.id).where(_r.c.id.in_(among))))

    @transaction()
    def read(self, connection: sa.Connection, run_id: str) -> TracedRun | None:
        """One run; None if it was removed."""
        row = connection.execute(sa.select(_r).where(_r.c.id == run_id)).first()
        if row is None:
            return None
        run = runs.as_run(row)
        query = sa.select(_e.c.seq, _e.c.at, _e.c.payload).where(
            _e.c.session_key == run.session_key, _e.c.run_id == run_id, _e.c.seq >= run.first_seq
        )
        found = connection.execute(query.order_by(_e.c.seq).limit(_MOST_ENTRIES)).all()
        entries = [Entry(seq, run_id, at, _body(payload)) for seq, at, payload in found]
        rows = connection.execute(sa.select(_o).where(_o.c.run_id == run_id)).all()
        return TracedRun(run, entries, [_sent(row) for row in rows])


def _body(payload: bytes | None) -> Any:
    """An unreadable entry gets no span; handling it is the store's task."""
    if payload is None:
        return None
    try:
        return decode(payload)
    except RowUnreadable:
        return None


def _sent(row: sa.Row[Any]) -> Sent:
    return Sent(
        key=row.key,
        channel=row.channel,
        created_at=row.created_at,
        settled_at=row.settled_at,
        error=(row.error or "not sent") if row.state == "dead" else "",
        maybe_duplicate=bool(row.maybe_duplicate),
    )
