"""Copies a whole store from one database to another, row by row, and proves that the two are equal.

Rows are streamed in batches, so memory use does not grow with the store. The whole move is one
transaction of the target: an interruption leaves the target unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import sqlalchemy as sa

from nanobot.errors import StoreCorrupt, UsageError
from nanobot.plugins.common.store import chain
from nanobot.plugins.postgres.store.plugin_tables import move_plugins
from nanobot.plugins.postgres.store.row_copy import Content, content_of, copy_rows
from nanobot.store.database import migrate, schema
from nanobot.store.database.dialect import one_snapshot
from nanobot.store.database.strict_types import LARGEST_INTEGER
from nanobot.store.plugin_tables import Revisions

_NUMBERED = tuple(
    table
    for table in schema.metadata().sorted_tables
    if [column.name for column in table.primary_key if column.autoincrement is True] == ["id"]
)


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """The rows moved, by table, those of plugins too. `left`: see PluginsMoved."""

    rows: dict[str, int]
    left: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.rows.values())


def patiently(connection: sa.Connection) -> None:
    """Allow this transaction to idle between statements, and make its reads see one snapshot."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")


def move(
    source: sa.Connection,
    target: sa.Connection,
    verify: Callable[[sa.Connection, str], bytes],
    plugins: Mapping[str, Revisions],
) -> Moved:
    """Copy everything into an empty database, then compare: counts, contents, and, with `verify`,
    the chain of each log. `plugins`: the revisions of their tables, by plugin. Raises UsageError if
    the target is not empty, and StoreCorrupt if a log of the source fails verification or the copy
    differs.
    """
    patiently(source)
    patiently(target)
    one_snapshot(source)
    _make_room(target)
    copied: dict[str, Content] = {}
    for table in schema.metadata().sorted_tables:
        copied[table.name] = copy_rows(source, target, table, table)
    for table in _NUMBERED:
        _go_on_counting(source, target, table)
    for table in schema.metadata().sorted_tables:
        if content_of(target, table) != copied[table.name]:
            raise StoreCorrupt(f"the copy of the table {table.name} differs from the original")
    for key in source.scalars(sa.select(schema.sessions.c.key)).all():
        if verify(source, key) != verify(target, key):
            raise StoreCorrupt(f"the log of {key} ends otherwise in the copy")
    more = move_plugins(source, target, plugins)
    rows = {name: content.rows for name, content in copied.items() if content.rows}
    return Moved(rows=rows | more.rows, left=more.left)


def head_of(connection: sa.Connection, key: str) -> bytes:
    """The last hash of a log whose chain has been verified."""
    chain.verify_within(connection, key)
    query = sa.select(schema.sessions.c.head_hash).where(schema.sessions.c.key == key)
    return bytes(connection.scalar(query) or b"")


def _make_room(target: sa.Connection) -> None:
    if migrate.prepare(target):
        raise UsageError("the target has tables of an earlier nanobot: use a new one")
    for table in schema.metadata().sorted_tables:
        if table is schema.meta:
            target.execute(sa.delete(table))
        elif target.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first():
            raise UsageError(
                f"the target is not empty ({table.name} has rows): give a database or a file that "
                "is new"
            )


def _go_on_counting(source: sa.Connection, target: sa.Connection, table: sa.Table) -> None:
    """Set the sequence so that the next id was never used before, not even by a deleted row."""
    last = _last_id(source, table)
    if not last:
        return
    if target.dialect.name == "postgresql":
        target.execute(
            sa.text("SELECT setval(pg_get_serial_sequence(:t, 'id'), :n)"),
            {"t": table.name, "n": last},
        )
    elif table.dialect_options["sqlite"]["autoincrement"]:
        counters = sa.table("sqlite_sequence", sa.column("name"), sa.column("seq"))
        target.execute(sa.delete(counters).where(counters.c.name == table.name))
        target.execute(sa.insert(counters), {"name": table.name, "seq": last})


def _last_id(source: sa.Connection, table: sa.Table) -> int:
    readable = table.c.id <= LARGEST_INTEGER  # an absurd id must not be counted on from
    most = int(source.scalar(sa.select(sa.func.max(table.c.id)).where(readable)) or 0)
    if source.dialect.name == "postgresql":
        query = sa.text("SELECT pg_sequence_last_value(pg_get_serial_sequence(:t, 'id')::regclass)")
    elif table.dialect_options["sqlite"]["autoincrement"]:
        query = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :t")
    else:
        return most
    last = int(source.scalar(query, {"t": table.name}) or 0)
    return max(most, last if last <= LARGEST_INTEGER else 0)
