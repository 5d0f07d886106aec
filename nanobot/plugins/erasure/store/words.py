"""The words of removed entries and memories, in the full-text indexes."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import sqlalchemy as sa

from nanobot.plugins.common.store import search_tables
from nanobot.plugins.common.store.erasures import LOG_WORDS, note
from nanobot.plugins.common.store.full_text import FullText
from nanobot.plugins.erasure.store.notes import ROWS
from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database
from nanobot.store.journal import log

_w = search_tables.log_words

_CHANGES = sa.text("SELECT total_changes()")
_MERGED_PAGES = 64


def remove(connection: Connection, key: str, numbers: Collection[int]) -> None:
    """Remove the index rows of these entries. This transaction, which holds the session, has
    already removed their payloads.
    """
    theirs = sa.and_(_w.c.session_key == key, _w.c.seq.in_(numbers))
    if connection.execute(sa.delete(_w).where(theirs)).rowcount:
        note(connection, LOG_WORDS, key)


def remove_some(connection: Connection, key: str) -> bool:
    """Remove some index rows of a session that is being removed, after its entries. Returns False
    when none are left.
    """
    log.HEAD.execute(connection, k=key)
    some = sa.select(_w.c.id).where(_w.c.session_key == key).limit(ROWS)
    ids = list(connection.scalars(some))
    if ids:
        connection.execute(sa.delete(_w).where(_w.c.id.in_(ids)))
        note(connection, LOG_WORDS, key)
    return bool(ids)


async def purge(database: Database, index: FullText) -> None:
    """Purge all terms of removed rows. FTS5 only marks a removed row's terms until the whole index
    is merged into one segment; each step takes a few milliseconds. PostgreSQL purges its indexes
    itself.
    """
    if database.dialect == "sqlite":
        pages = -_MERGED_PAGES  # negative: the first step includes the whole index
        while await database.transact(partial(_step, index=index, pages=pages), "memory"):
            pages = _MERGED_PAGES


def _step(connection: Connection, index: FullText, pages: int) -> bool:
    """Whether there may be more to do. See https://sqlite.org/fts5.html#the_merge_command"""
    before = connection.scalar(_CHANGES)
    index.merge(connection, pages)
    return bool(connection.scalar(_CHANGES) - before >= 2)
