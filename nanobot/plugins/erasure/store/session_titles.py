"""Titles of sessions whose source is erased: the first message, or what a model saw."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.store import search_tables
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.text import title_of

_s = schema.sessions
_m = search_tables.session_marks

_OLD_LENGTH = 60
"""The number of characters of a message that were its session's title before titles ended with the
sentence.
"""


def forget(connection: Connection, key: str, seq: int, text: str) -> None:
    """That entry is erased: remove a title that was made from it."""
    titles = {title_of(text), text[:_OLD_LENGTH]}
    first = sa.and_(_s.c.key == key, _s.c.title.in_(titles - {""}))
    connection.execute(sa.update(_s).where(first).values(title=""))
    model = sa.select(_m.c.session_key).where(
        _m.c.session_key == key, _m.c.title_by == "model", _m.c.title_upto >= seq
    )
    if connection.execute(model).first() is not None:
        connection.execute(sa.update(_s).where(_s.c.key == key).values(title=""))
