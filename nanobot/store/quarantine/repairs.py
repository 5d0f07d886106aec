"""Repairs of rows that stay in their table: a conversation keeps its row and its log, with default
values in the unreadable columns.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from nanobot.session import entries as log_entries
from nanobot.session.chain import GENESIS
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.strict_types import LARGEST_INTEGER
from nanobot.store.journal import log
from nanobot.store.quarantine import raw
from nanobot.store.quarantine.raw import Page, Raw, RawRow
from nanobot.store.unit import Unit

_s, _e = schema.sessions, schema.entries


def repair(unit: Unit, table: sa.Table, row: RawRow, columns: Collection[str]) -> bool:
    """Put default values into these columns of the row, if its table is one whose rows stay."""
    key = raw.key_of(table, row)
    if any(column in key for column in columns):
        return False
    values = {c.name: c.info["default"](unit.now) for c in table.columns if "default" in c.info}
    if table in (_s, _e):
        values |= {column.name: None for column in table.columns if column.nullable}
    if table is _s:  # its log shows where it ends
        seq, head = _end_of(unit, row["key"])
        values |= {"head_seq": seq, "head_hash": head, "remembered_seq": seq}
    if not values.keys() >= set(columns):
        return False
    changed = {name: values[name] for name in columns}
    unit.execute(sa.update(table).where(raw.where(unit, key)).values(changed))
    if table is _e and "payload" in columns:
        _say_erased(unit, row)
    return True


def _end_of(connection: Connection, key: Raw) -> tuple[int, bytes]:
    """The last number in a log, and its hash. Entries may be unreadable, too: one without a number
    is passed over, and an unreadable hash counts as zeros.
    """
    session = raw.where(connection, {"session_key": key})
    query = sa.select(sa.func.max(_e.c.seq)).where(session, _e.c.seq <= LARGEST_INTEGER)
    if connection.dialect.name == "sqlite":  # which keeps any value in any column
        query = query.where(sa.func.typeof(_e.c.seq) == "integer")
    last = connection.scalar(query)
    if last is None:
        return 0, GENESIS
    number = Raw("integer", str(last).encode())
    place = raw.where(connection, {"session_key": key, "seq": number})
    (entry,) = raw.read(connection, Page(_e, (place,)))
    found = entry["hash"].data
    size = len(GENESIS)
    return last, found if entry["hash"].kind == "blob" and len(found) == size else bytes(size)


def _say_erased(unit: Unit, row: RawRow) -> None:
    """The log records that the entry is empty, like one that a person erased. The lost content may
    have come from an untrusted source, so the entry taints.
    """
    key, seq = row["session_key"].data.decode(), int(row["seq"].data)
    if log.exists(unit, key):
        lane = log.lane_of(unit, key)
        erased = log_entries.ErasedEntry(seq=seq, by=log_entries.QUARANTINE)
        log.append(unit, lane, "", [erased])
