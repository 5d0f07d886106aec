"""The root of a run: the run that started it all."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import Origin
from nanobot.session.runs import Run
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import as_struct

_r = schema.runs

_BY_CLOCK = (Origin.CRON, Origin.HEARTBEAT)


class RootRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run that started it all. `session_key`, `first_seq`: its first entry; "": unknown."""

    run_id: str
    origin: Origin
    channel: str
    chat_id: str
    sender_id: str
    session_key: str = ""
    first_seq: int = 0


def _first_run() -> sa.Select[*tuple[object, ...]]:
    # Reports lead to further runs, so a chain may be long; it cannot become a cycle.
    far: sa.ColumnElement[int] = sa.literal_column("0").label("far")
    up = sa.select(_r.c.id, _r.c.parent, far).where(_r.c.id == sa.bindparam("i"))
    all_of = up.cte("up", recursive=True)
    one_more: sa.ColumnElement[int] = (all_of.c.far + sa.literal_column("1")).label("far")
    all_of = all_of.union_all(
        sa.select(_r.c.id, _r.c.parent, one_more).where(_r.c.id == all_of.c.parent)
    )
    columns = (_r.c.id, _r.c.parent, _r.c.origin, _r.c.channel, _r.c.chat_id, _r.c.sender_id)
    query = sa.select(*columns, _r.c.session_key, _r.c.first_seq)
    query = query.join(all_of, all_of.c.id == _r.c.id)
    return query.order_by(all_of.c.far.desc()).limit(sa.literal_column("1"))


_FIRST = Prepared(_first_run())


def beginning(connection: Connection, run: Run) -> RootRun:
    """The root of a run. If the root was deleted, only its id is known."""
    if run.origin not in (Origin.RUN, *_BY_CLOCK):  # only tasks and reports have a parent
        return _itself(run)
    row = _FIRST.execute(connection, i=run.id).first()
    if row is None:
        return _itself(run)
    return as_struct(row, RootRun, run_id=row.parent or row.id)


def _itself(run: Run) -> RootRun:
    return RootRun(
        run_id=run.id,
        origin=run.origin,
        channel=run.address.channel,
        chat_id=run.address.chat_id,
        sender_id=run.sender_id,
    )
