"""Pending erasures, recorded as facts: a crash cannot leave one half done."""

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
"""Kinds of `erasures`: a session; the quotes of an entry; a file that may have no other reference;
the full-text indexes of memories and of conversations; old pages in SQLite's write-ahead log; and
the archive of a session.
"""
ROWS = 100
"""Rows changed in one transaction, so that others do not wait long."""

_DONE = sa.delete(_x).where(_x.c.kind == sa.bindparam("k"), _x.c.name == sa.bindparam("n"))


def note(connection: sa.Connection, kind: str, name: str) -> None:
    """Record that it must be erased, whatever happens from now on."""
    insert_ignore(connection, _x, {"kind": kind, "name": name})


class InArchive(msgspec.Struct, frozen=True, array_like=True):
    """The archive of a session (seq 0), or one of its entries."""

    session_key: str
    seq: int = 0


def note_archived(connection: sa.Connection, key: str, seq: int = 0) -> None:
    """If the session has an archive with that entry, record that the entry must be erased there; 0:
    all of it.
    """
    query = sa.select(_a.c.last).where(_a.c.session_key == key)
    if (connection.scalar(query) or -1) >= seq:
        note(connection, ARCHIVED, msgspec.json.encode(InArchive(key, seq)).decode())


def noted(connection: sa.Connection, kind: str) -> list[str]:
    """Pending erasures of that kind."""
    return list(connection.scalars(sa.select(_x.c.name).where(_x.c.kind == kind)))


def done(connection: sa.Connection, kind: str, names: Sequence[str]) -> int:
    """Mark these as erased; returns how many were pending."""
    rows = [{"k": kind, "n": name} for name in names]
    return connection.execute(_DONE, rows).rowcount if rows else 0


def note_blobs(connection: sa.Connection, payloads: list[bytes | None]) -> None:
    """The files that these rows name may have no other reference."""
    for digest in named(payloads):
        note(connection, BLOB, digest)


def bare_inbound(body: bytes) -> bytes:
    """The sender, the place, the message's id and the time; nothing of its content."""
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
