"""Turns database failures into messages that tell people what to do."""

from __future__ import annotations

import sqlite3

from nanobot.errors import RowUnreadable, StoreCorrupt, StoreError, StoreUnwritable

# SQLite's primary result codes, and PostgreSQL's SQLSTATEs.
_FULL = frozenset({sqlite3.SQLITE_FULL, "53100"})
_UNWRITABLE = frozenset(
    {
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        "25006",
        "42501",
    }
)
_BUSY = frozenset({"55P03", "57014", "25P03"})
_DATA, _NOT_TEXT = "22", "Could not decode to UTF-8"
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, "XX001", "XX002"})


def as_store_error(cause: BaseException | None) -> StoreError:
    """Classify a driver's exception, and describe it in words that a person can act on."""
    text, code = str(cause), code_of(cause)
    if code in _FULL:
        return StoreUnwritable(f"the disk is full ({text}): free some space; nothing was lost")
    if code in _UNWRITABLE:
        return StoreUnwritable(
            f"the database cannot be written ({text}): check its disk and its folder's permissions"
        )
    if code in _DAMAGED:
        return StoreCorrupt(
            f"the database is damaged ({text}): `nanobot db restore FILE` replaces it with a "
            "backup (*.bak next to it)"
        )
    if code in _BUSY:
        return StoreError(
            f"the database is held up ({text.strip()}): another process has a lock on it, or the "
            f"server is slow; nanobot tries again"
        )
    if str(code).startswith(_DATA) or _NOT_TEXT in text:
        return RowUnreadable(f"the database cannot read a value ({text.strip()})")
    return StoreError(f"the database failed: {text}")


def code_of(cause: BaseException | None) -> int | str:
    """SQLite's primary result code or PostgreSQL's SQLSTATE; 0 if there is neither."""
    # SQLite's extended codes hold the primary one in their lowest byte.
    state: str | None = getattr(cause, "sqlstate", None)
    return state or getattr(cause, "sqlite_errorcode", 0) & 0xFF
