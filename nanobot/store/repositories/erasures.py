"""What is to be erased, as a fact of its own: a crash leaves none of it half done."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot.messages import InboundMessage, Sender
from nanobot.store.database import schema
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.repositories.blob_references import named

_a = schema.archived_logs
_x = schema.erasures

SESSION, QUOTES, BLOB = "session", "quotes", "blob"
WORDS, LOG_WORDS, LOGGED, ARCHIVED = "words", "log_words", "scrub", "archived"
"""Kinds of `erasures`: a session, what quotes an entry, a file that may be nobody else's, the
indexes of memories' words and of conversations' words, what SQLite's write-ahead log still holds,
and what is in the archive of a session."""
ROWS = 100
"""Rows that are changed at once, so that nobody waits long."""

_DONE = sa.delete(_x).where(_x.c.kind == sa.bindparam("k"), _x.c.name == sa.bindparam("n"))


def note(connection: sa.Connection, kind: str, name: str) -> None:
    """It is to be erased, whatever happens from now on."""
    insert_ignore(connection, _x, {"kind": kind, "name": name})


class InArchive(msgspec.Struct, frozen=True, array_like=True):
    """The archive of a session (seq 0), or one entry there."""

    session_key: str
    seq: int = 0


def note_archived(connection: sa.Connection, key: str, seq: int = 0) -> None:
    """If the session has an archive with that entry, it is to be erased there; 0: all of it."""
    query = sa.select(_a.c.last).where(_a.c.session_key == key)
    if (connection.scalar(query) or -1) >= seq:
        note(connection, ARCHIVED, msgspec.json.encode(InArchive(key, seq)).decode())


def noted(connection: sa.Connection, kind: str) -> list[str]:
    """What of that kind is to be erased yet."""
    return list(connection.scalars(sa.select(_x.c.name).where(_x.c.kind == kind)))


def done(connection: sa.Connection, kind: str, names: Sequence[str]) -> int:
    """These are erased; returns how many were to be."""
    rows = [{"k": kind, "n": name} for name in names]
    return connection.execute(_DONE, rows).rowcount if rows else 0


def note_blobs(connection: sa.Connection, payloads: list[bytes | None]) -> None:
    """The files that these name may be nobody else's."""
    for digest in named(payloads):
        note(connection, BLOB, digest)


def bare_inbound(body: bytes) -> bytes:
    """Who, where, which message and when; nothing of what it said."""
    message = msgspec.json.decode(body, type=InboundMessage)
    return msgspec.json.encode(
        InboundMessage(
            address=message.address,
            message_id=message.message_id,
            dedupe_key=message.dedupe_key,
            sender=Sender(message.sender.id),
            text="",
            sent_at=message.sent_at,
            group=message.group,
            origin=message.origin,
        )
    )
