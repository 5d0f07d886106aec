"""Pending erasures, recorded as facts: a crash cannot leave one half done. An `Eraser` does them
(`nanobot.session.erasing`); while there is none, they stay recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import sqlalchemy as sa

from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.tables import metadata, words

SESSION, QUOTES, BLOB, PLUGIN = "session", "quotes", "blob", "plugin"
WORDS, LOG_WORDS, LOGGED, ARCHIVED = "words", "log_words", "scrub", "archived"
"""Kinds of `erasures`: a session; the quotes of an entry; a file that may have no other reference;
what a plugin keeps of a session, if its hook failed; the full-text indexes of memories and of
conversations; old pages in SQLite's write-ahead log; and the archive of a session.
"""
_KINDS = (SESSION, QUOTES, BLOB, PLUGIN, WORDS, LOG_WORDS, LOGGED, ARCHIVED)


class InArchive(msgspec.Struct, frozen=True, array_like=True):
    """The archive of a session (seq 0), or one of its entries."""

    session_key: str
    seq: int = 0


class InPlugin(msgspec.Struct, frozen=True, array_like=True):
    """What a plugin keeps of a session."""

    plugin: str
    session_key: str


def _check(row: Mapping[str, bytes]) -> None:
    parts = {ARCHIVED: InArchive, PLUGIN: InPlugin}.get(row["kind"].decode("utf-8", "replace"))
    if parts is not None:
        msgspec.json.decode(row["name"], type=parts)


erasures = sa.Table(
    "erasures",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True, info=words(*_KINDS)),
    sa.Column("name", sa.Text, primary_key=True),
    sqlite_with_rowid=False,
    info={"row": _check},
)
_DONE = sa.delete(erasures).where(
    erasures.c.kind == sa.bindparam("k"), erasures.c.name == sa.bindparam("n")
)


def note(connection: Connection, kind: str, name: str) -> None:
    """Record that it must be erased, whatever happens from now on."""
    insert_ignore(connection, erasures, {"kind": kind, "name": name})


def done(connection: Connection, kind: str, names: Sequence[str]) -> int:
    """Mark these as erased; returns how many were pending."""
    rows = [{"k": kind, "n": name} for name in names]
    return connection.execute(_DONE, rows).rowcount if rows else 0
