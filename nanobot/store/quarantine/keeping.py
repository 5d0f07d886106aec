"""Moves rows into quarantine. The plugin `quarantine` shows them and puts them back."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from loguru import logger

from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.quarantine import groups, raw, repairs
from nanobot.store.quarantine.raw import KeptRow, RawRow
from nanobot.store.quarantine.readable import Flaw
from nanobot.store.unit import Unit

_q = schema.quarantine
NEVER_MOVED = frozenset({"meta", "quarantine"})
"""Tables whose rows are left where they are: without them no store could be opened and no row put
back.
"""


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
        group = groups.together(unit, table, row)
    gone = group[1:] if repaired else group
    for kept in gone:
        _remove(unit, kept)
    values = {
        "of_table": table.name,
        "row_key": _plain(raw.shown_key(raw.key_of(table, row))),
        "session_key": _plain(groups.session_of(group)),
        "of_column": ", ".join(names),
        "reason": _plain(left[0].reason),
        "content": raw.encode(group),
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
    of_session = groups.live_run(connection, {"session_key": entry["session_key"]})
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
