"""Which files a session names, and which of them nobody else does."""

from __future__ import annotations

import re
from collections.abc import Iterable

import sqlalchemy as sa

from nanobot.store.database import schema

_NAMED = re.compile(rb'"blob":"([0-9a-f]{64})"')
_HOLDERS = (
    schema.entries.c.payload,
    schema.inbound.c.body,
    schema.outbound.c.body,
    schema.outbound_parts.c.file,
)


def of_session(connection: sa.Connection, key: str) -> set[str]:
    """The digests that a session's rows name."""
    owed = sa.select(schema.outbound.c.id).where(schema.outbound.c.session_key == key)
    queries = [
        sa.select(column).where(column.table.c.session_key == key) for column in _HOLDERS[:3]
    ]
    queries.append(
        sa.select(schema.outbound_parts.c.file).where(schema.outbound_parts.c.outbound_id.in_(owed))
    )
    rows = (data for query in queries for data in connection.scalars(query) if data)
    return {found.decode() for data in rows for found in _NAMED.findall(data)}


def unnamed(connection: sa.Connection, digests: Iterable[str]) -> list[str]:
    """Those that no row names any more."""
    return [digest for digest in sorted(digests) if not _is_named(connection, digest)]


def _is_named(connection: sa.Connection, digest: str) -> bool:
    sought = sa.literal(digest.encode(), sa.LargeBinary)
    sqlite = connection.dialect.name == "sqlite"
    for column in _HOLDERS:
        at = sa.func.instr(column, sought) if sqlite else sa.func.position(sought.op("IN")(column))
        if connection.execute(sa.select(sa.literal(1)).where(at > 0).limit(1)).first():
            return True
    return False
