"""Moves rows into quarantine, with those that cannot be used without them: half of a message or a
run would be misused. The plugin `quarantine` shows them and puts them back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa
from loguru import logger

from nanobot.session.keys import TASKS
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.quarantine import raw, repairs
from nanobot.store.quarantine.raw import KeptRow, Page, Raw, RawRow
from nanobot.store.quarantine.readable import Flaw
from nanobot.store.unit import Unit

_q = schema.quarantine
NEVER_MOVED = frozenset({"meta", "quarantine"})
"""Tables whose rows are left where they are: without them no store could be opened and no row put
back.
"""


_ENDED = frozenset({b"completed", b"failed", b"aborted"})
_APPROVAL_CLOSED = frozenset({b"approved", b"denied", b"answered", b"expired", b"void"})


def put_aside(unit: Unit, table: sa.Table, row: RawRow, found: Sequence[Flaw]) -> bool:
    """Move an unreadable row out of its table. Returns False if the row is left where it is."""
    left = [f for f in found if not _read_all_the_same(table, row, f.column)]
    if table.name in NEVER_MOVED or not left:
        return False
    names = tuple(dict.fromkeys(f.column for f in left))
    group = [KeptRow(str(table.name), dict(row))]
    repaired = repairs.repair(unit, table, row, names)
    if repaired and table is schema.entries and "payload" in names:
        group += _its_run(unit, row)
    elif not repaired:
        group = _together(unit, table, row)
    gone = group[1:] if repaired else group
    for kept in gone:
        _remove(unit, kept)
    values = {
        "of_table": table.name,
        "row_key": _plain(raw.shown_key(raw.key_of(table, row))),
        "session_key": _plain(_session_of(group)),
        "of_column": ", ".join(names),
        "reason": _plain(left[0].reason),
        "content": msgspec.json.encode(group),
        "state": "repaired" if repaired else "moved",
        "at": unit.now,
    }
    unit.execute(sa.insert(_q).values(values))
    logger.error(
        "{} {} cannot be read ({}): it is in the table quarantine now",
        table.name,
        values["row_key"],
        values["of_column"],
    )
    return True


def _read_all_the_same(table: sa.Table, row: RawRow, column: str) -> bool:
    """Whether the row stays and is listed; operations that act on it refuse it."""
    return "listed" in table.c[column].info and row[column].kind == "blob"


def _its_run(connection: Connection, entry: RawRow) -> list[KeptRow]:
    """The live run of an entry: with a gap in its own log it might repeat an action."""
    of_session = _live_run(connection, {"session_key": entry["session_key"]})
    seq = int(entry["seq"].data)
    run = next((kept for kept in of_session if kept.table == "runs"), None)
    begins = run is not None and run.columns["first_seq"]
    return of_session if begins and begins.kind == "integer" and int(begins.data) <= seq else []


def _remove(connection: Connection, kept: KeptRow) -> None:
    table = schema.metadata().tables[kept.table]
    this = raw.where(connection, raw.key_of(table, kept.columns))
    connection.execute(sa.delete(table).where(this))


def _plain(text: str) -> str:
    """A value for a text column, whatever the row contains."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")[:500]


def _together(connection: Connection, table: sa.Table, row: RawRow) -> list[KeptRow]:
    """The row first, then those that cannot be used without it."""
    group = [KeptRow(str(table.name), dict(row))]
    if table is schema.outbound:
        group += _of(connection, schema.outbound_parts, {"outbound_id": row["id"]})
    elif table is schema.outbound_parts:
        group += _of(connection, schema.outbound, {"id": row["outbound_id"]})
        group += _of(connection, schema.outbound_parts, {"outbound_id": row["outbound_id"]})
    elif table is schema.runs and _is_live(row):
        group += _below(connection, row["id"])
    elif (table is schema.approvals and _is_open(row)) or "of_background_runs" in table.info:
        group += _live_run(connection, {"id": row["run_id"]})
    return _once(group)


def _live_run(connection: Connection, values: RawRow) -> list[KeptRow]:
    """The live run with these values, with its pending approvals and the messages it answers."""
    runs = [run for run in _of(connection, schema.runs, values) if _is_live(run.columns)]
    below = [more for run in runs for more in _below(connection, run.columns["id"])]
    return [*runs, *below]


def _session_of(group: list[KeptRow]) -> str:
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


def _is_live(run: RawRow) -> bool:
    """Whether a run is unfinished, if that can be determined."""
    return run["state"].data not in _ENDED


def _is_open(approval: RawRow) -> bool:
    return approval["state"].data not in _APPROVAL_CLOSED


def _below(connection: Connection, run_id: Raw) -> list[KeptRow]:
    """The open approvals of a run, and the messages that it answers."""
    mine = {"run_id": run_id}
    asked = [row for row in _of(connection, schema.approvals, mine) if _is_open(row.columns)]
    open_ones = (schema.INBOUND_OPEN, raw.where(connection, mine))
    taken = raw.read(connection, Page(schema.inbound, open_ones))
    return [*asked, *(KeptRow("inbound", dict(row)) for row in taken)]


def _of(connection: Connection, table: sa.Table, values: RawRow) -> list[KeptRow]:
    found = raw.read(connection, Page(table, (raw.where(connection, values),)))
    return [KeptRow(str(table.name), dict(row)) for row in found]


def _once(group: list[KeptRow]) -> list[KeptRow]:
    """Each row once, in order."""
    seen: dict[object, KeptRow] = {}
    for kept in group:
        key = raw.key_of(schema.metadata().tables[kept.table], kept.columns)
        seen.setdefault((kept.table, *key.values()), kept)
    return list(seen.values())
