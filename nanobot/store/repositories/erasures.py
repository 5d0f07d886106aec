"""Pending erasures, recorded as facts: a crash cannot leave one half done. An `Eraser` does them
(`nanobot.session.erasing`); while there is none, they stay recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore

_x = schema.erasures
SESSION, QUOTES, BLOB, PLUGIN, WORDS, LOG_WORDS, LOGGED, ARCHIVED = schema.ERASED
"""Kinds of `erasures`: a session; the quotes of an entry; a file that may have no other reference;
what a plugin keeps of a session, if its hook failed; the full-text indexes of memories and of
conversations; old pages in SQLite's write-ahead log; and the archive of a session.
"""


class InArchive(msgspec.Struct, frozen=True, array_like=True):
    """The archive of a session (seq 0), or one of its entries."""

    session_key: str
    seq: int = 0


class InPlugin(msgspec.Struct, frozen=True, array_like=True):
    """What a plugin keeps of a session."""

    plugin: str
    session_key: str


_DONE = sa.delete(_x).where(_x.c.kind == sa.bindparam("k"), _x.c.name == sa.bindparam("n"))


def note(connection: Connection, kind: str, name: str) -> None:
    """Record that it must be erased, whatever happens from now on."""
    insert_ignore(connection, _x, {"kind": kind, "name": name})


def done(connection: Connection, kind: str, names: Sequence[str]) -> int:
    """Mark these as erased; returns how many were pending."""
    rows = [{"k": kind, "n": name} for name in names]
    return connection.execute(_DONE, rows).rowcount if rows else 0
