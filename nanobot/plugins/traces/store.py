"""The runs whose spans are still to be sent, over SQL."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable
from nanobot.plugins.traces.span import Sent
from nanobot.session import keys
from nanobot.session.entries import ApprovalEntry, Entry, ToolResultEntry, decode
from nanobot.session.runs import Run
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import runs
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_r, _e, _o = schema.runs, schema.entries, schema.outbound
_RUNS = 50
_MOST_ENTRIES = 5_000
_MOST_KEYS = 300
_MOST_FILES = 3
_RUN = Prepared(sa.select(_r).where(_r.c.id == sa.bindparam("r")))
_ENTRIES = Prepared(
    sa.select(_e.c.seq, _e.c.at, _e.c.payload)
    .where(
        _e.c.session_key == sa.bindparam("s"),
        _e.c.run_id == sa.bindparam("r"),
        _e.c.seq >= sa.bindparam("f"),
    )
    .order_by(_e.c.seq)
    .limit(_MOST_ENTRIES)
)
_MESSAGE = Prepared(
    sa.select(_o).where(_o.c.key == sa.bindparam("k"), _o.c.run_id == sa.bindparam("r"))
)
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
    def newest(self, connection: Connection) -> str:
        """The run that began last; "" if there is none."""
        return connection.scalar(sa.select(sa.func.max(_r.c.id))) or ""

    @transaction()
    def following(self, connection: Connection, progress: Progress) -> list[str]:
        """The ids of the next runs, in order."""
        query = sa.select(_r.c.id).where(_r.c.id > progress.after).order_by(_r.c.id).limit(_RUNS)
        return list(connection.scalars(query))

    @transaction()
    def ended(self, unit: Unit, among: tuple[str, ...]) -> list[str]:
        """Those of these runs that can be sent now: they and their deliveries have ended."""
        now = unit.now
        unsent = sa.select(_o.c.run_id).where(schema.OUTBOUND_OPEN, _o.c.run_id.in_(among))
        owed = set(unit.scalars(unsent))
        query = sa.select(_r.c.id, _r.c.ended_at).where(
            _r.c.id.in_(among), _r.c.ended_at.is_not(None)
        )
        return [
            identity
            for identity, ended_at in unit.execute(query.order_by(_r.c.id))
            if identity not in owed or not now - _SETTLE_SECONDS <= ended_at <= now
        ]

    @transaction()
    def there(self, connection: Connection, among: tuple[str, ...]) -> list[str]:
        """Those of these runs that still exist."""
        return list(connection.scalars(sa.select(_r.c.id).where(_r.c.id.in_(among))))

    @transaction()
    def read(self, connection: Connection, run_id: str) -> TracedRun | None:
        """One run; None if it was removed."""
        row = _RUN.execute(connection, r=run_id).first()
        if row is None:
            return None
        run = runs.as_run(row)
        found = _ENTRIES.execute(connection, s=run.session_key, r=run_id, f=run.first_seq).all()
        entries = [Entry(seq, run_id, at, _body(payload)) for seq, at, payload in found]
        # By their unique keys: messages have no index by run.
        named = islice(message_keys(run_id, entries), _MOST_KEYS)
        rows = (_MESSAGE.execute(connection, k=key, r=run_id).first() for key in named)
        return TracedRun(run, entries, [_sent(row) for row in rows if row is not None])


def message_keys(run_id: str, entries: Iterable[Entry]) -> Iterable[str]:
    """The keys of the messages that a run may have sent: its answer, the parts of it that were
    shown before a question, and those that its tools sent."""
    yield keys.answer(run_id)
    for entry in entries:
        match entry.body:
            case ApprovalEntry(id=approval):
                yield keys.answer(run_id, approval)
            case ToolResultEntry(call=call, index=index):
                yield f"{run_id}:{call}:{index}:message"
                yield from (f"{run_id}:{call}:{index}:sent:{n}" for n in range(_MOST_FILES))
            case _:
                pass


def _body(payload: bytes | None) -> Any:
    """An unreadable entry gets no span; handling it is the store's task."""
    if payload is None:
        return None
    try:
        return decode(payload)
    except RowUnreadable:
        return None


def _sent(row: Any) -> Sent:
    return Sent(
        key=row.key,
        channel=row.channel,
        created_at=row.created_at,
        settled_at=row.settled_at,
        error=(row.error or "not sent") if row.state == "dead" else "",
        maybe_duplicate=bool(row.maybe_duplicate),
    )
