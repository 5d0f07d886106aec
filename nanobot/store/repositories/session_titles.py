"""Session titles: the first sentence of the first message, a title set by a person, or one made by
a model.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from nanobot.session.inbox import Admission
from nanobot.store.database import message_tables as schema
from nanobot.store.database import search_tables
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import log
from nanobot.store.unit import StoreContext
from nanobot.text import title_of

_s = schema.sessions
_m = search_tables.session_marks

_OLD_LENGTH = 60
"""The number of characters of a message that were its session's title before titles ended with the
sentence.
"""
_NAME = Prepared(
    sa.update(_s)
    .where(_s.c.key == sa.bindparam("k"), _s.c.title == "")
    .values(title=sa.bindparam("title"))
)


def begin(
    connection: sa.Connection, writer: StoreContext, admission: Admission, session: Any
) -> None:
    """Create the session of a message if necessary (`session` is its row, if it existed). The
    message gives it a title if it can; a command cannot.
    """
    orders = admission.answer is not None or admission.stop is not None
    text = "" if orders or admission.message.command else admission.message.text
    if session is None:
        log.ensure_session(connection, writer, admission.session_key, text)
    elif text and not session.title:
        _NAME.execute(connection, k=admission.session_key, title=title_of(text))


def forget(connection: sa.Connection, key: str, seq: int, text: str) -> None:
    """That entry is erased: remove a title that was made from it."""
    titles = {title_of(text), text[:_OLD_LENGTH]}
    first = sa.and_(_s.c.key == key, _s.c.title.in_(titles - {""}))
    connection.execute(sa.update(_s).where(first).values(title=""))
    model = sa.select(_m.c.session_key).where(
        _m.c.session_key == key, _m.c.title_by == "model", _m.c.title_upto >= seq
    )
    if connection.execute(model).first() is not None:
        connection.execute(sa.update(_s).where(_s.c.key == key).values(title=""))
