"""Repairs of rows that stay in their table: a conversation keeps its row and its log, with default
values in the unreadable columns.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

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
    if table is _s:
        values = _of_session(unit, row)
    elif table is _e:
        values = _of_entry()
    else:
        default = {c.name: c.info["default"] for c in table.columns if "default" in c.info}
        if not default.keys() >= set(columns):
            return False
        values = {name: default[name](unit.now) for name in columns}
    changed = {name: values[name] for name in columns}
    unit.execute(sa.update(table).where(raw.where(unit, key)).values(changed))
    if table is _e and "payload" in columns:
        _say_erased(unit, row)
    return True


def _of_session(unit: Unit, row: RawRow) -> dict[str, Any]:
    """Default values for a conversation. Its log shows where it ends, its token is one that was
    never used, and it counts as read by several people.
    """
    now = unit.now
    seq, head = _end_of(unit, row["key"])
    return {
        "title": "",
        "model": None,
        "created_at": now,
        "updated_at": now,
        "last_read_at": None,
        "head_seq": seq,
        "head_hash": head,
        "window_from": 1,
        "prompt": None,
        "prompt_variant": None,
        "shared": True,
        "remembered_seq": seq,
        "token": int(now * 1000),
        "owner": None,
        "lease_until": None,
    }


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


def _of_entry() -> dict[str, Any]:
    nothing = bytes(len(GENESIS))
    return {
        "run_id": "",
        "kind": "post",
        "at": 0.0,
        "salt": None,
        "payload": None,
        "digest": nothing,
        "hash": nothing,
    }


def _say_erased(unit: Unit, row: RawRow) -> None:
    """The log records that the entry is empty, like one that a person erased. The lost content may
    have come from an untrusted source, so the entry taints.
    """
    key, seq = row["session_key"].data.decode(), int(row["seq"].data)
    if log.exists(unit, key):
        lane = log.lane_of(unit, key)
        erased = log_entries.ErasedEntry(seq=seq, by=log_entries.QUARANTINE)
        log.append(unit, lane, "", [erased])
