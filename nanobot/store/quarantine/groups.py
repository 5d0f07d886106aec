"""The rows that move to quarantine together, because half of a message or of a run would be
misused.
"""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.session.keys import TASKS
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.quarantine import raw
from nanobot.store.quarantine.raw import KeptRow, Raw, RawRow

_ENDED = frozenset({b"completed", b"failed", b"aborted"})
_APPROVAL_CLOSED = frozenset({b"approved", b"denied", b"answered", b"expired", b"void"})


def together(connection: Connection, table: sa.Table, row: RawRow) -> list[KeptRow]:
    """The row first, then those that cannot be used without it."""
    group = [KeptRow(str(table.name), dict(row))]
    if table is schema.outbound:
        group += _of(connection, schema.outbound_parts, {"outbound_id": row["id"]})
    elif table is schema.outbound_parts:
        group += _of(connection, schema.outbound, {"id": row["outbound_id"]})
        group += _of(connection, schema.outbound_parts, {"outbound_id": row["outbound_id"]})
    elif table is schema.runs and is_live(row):
        group += _below(connection, row["id"])
    elif (table is schema.approvals and _is_open(row)) or "of_background_runs" in table.info:
        group += live_run(connection, {"id": row["run_id"]})
    return _once(group)


def live_run(connection: Connection, values: RawRow) -> list[KeptRow]:
    """The live run with these values, with its pending approvals and the messages it answers."""
    runs = [run for run in _of(connection, schema.runs, values) if is_live(run.columns)]
    below = [more for run in runs for more in _below(connection, run.columns["id"])]
    return [*runs, *below]


def session_of(group: list[KeptRow]) -> str:
    """The conversation that rows belong to; "": none, if it cannot be determined."""
    for kept in group:
        row = kept.columns
        if kept.table == "sessions":
            return row["key"].shown()
        if "session_key" in row and row["session_key"].kind == "text":
            return row["session_key"].shown()
        if "of_background_runs" in schema.metadata().tables[kept.table].info:
            return TASKS.of(row["run_id"].shown())
    first = group[0].columns
    return f"{first['channel'].shown()}:{first['chat_id'].shown()}" if "chat_id" in first else ""


def is_live(run: RawRow) -> bool:
    """Whether a run is unfinished, if that can be determined."""
    return run["state"].data not in _ENDED


def _is_open(approval: RawRow) -> bool:
    return approval["state"].data not in _APPROVAL_CLOSED


def _below(connection: Connection, run_id: Raw) -> list[KeptRow]:
    """The open approvals of a run, and the messages that it answers."""
    mine = {"run_id": run_id}
    asked = [row for row in _of(connection, schema.approvals, mine) if _is_open(row.columns)]
    taken = raw.read(connection, schema.inbound, schema.INBOUND_OPEN, raw.where(connection, mine))
    return [*asked, *(KeptRow("inbound", dict(row)) for row in taken)]


def _of(connection: Connection, table: sa.Table, values: RawRow) -> list[KeptRow]:
    found = raw.read(connection, table, raw.where(connection, values))
    return [KeptRow(str(table.name), dict(row)) for row in found]


def _once(group: list[KeptRow]) -> list[KeptRow]:
    """Each row once, in order."""
    seen: dict[object, KeptRow] = {}
    for kept in group:
        key = raw.key_of(schema.metadata().tables[kept.table], kept.columns)
        seen.setdefault((kept.table, *key.values()), kept)
    return list(seen.values())
