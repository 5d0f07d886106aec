"""The erasures that are recorded and not done yet."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.store.erasures import ARCHIVED, BLOB, InArchive, erasures, note
from nanobot.plugins.erasure import tables
from nanobot.plugins.erasure.store.blob_references import named
from nanobot.store.database.connection import Connection

_a = tables.archived_logs
_x = erasures

ROWS = 100
"""Rows changed in one transaction, so that others do not wait long."""


def note_archived(connection: Connection, key: str, seq: int = 0) -> None:
    """If the session has an archive with that entry, record that the entry must be erased there; 0:
    all of it.
    """
    query = sa.select(_a.c.last).where(_a.c.session_key == key)
    if (connection.scalar(query) or -1) >= seq:
        note(connection, ARCHIVED, msgspec.json.encode(InArchive(key, seq)).decode())


def note_blobs(connection: Connection, payloads: list[bytes | None]) -> None:
    """The files that these rows name may have no other reference."""
    for digest in named(payloads):
        note(connection, BLOB, digest)


def noted(connection: Connection, kind: str) -> list[str]:
    """Pending erasures of that kind."""
    return list(connection.scalars(sa.select(_x.c.name).where(_x.c.kind == kind)))
