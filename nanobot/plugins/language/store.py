"""Forgets the language of a chat with its last conversation."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database import schema
from nanobot.store.database.connection import Connection

_c = sa.table("language_chats", sa.column("chat", sa.Text))
_s = schema.sessions


class ForgottenChats:
    """See nanobot.store.unit.EraseHook."""

    def erases(self, connection: Connection, session_key: str) -> None:
        """Remove the row of the conversation's chat, unless others of that chat remain."""
        others = sa.exists().where(_s.c.key != session_key, _is_of(_s.c.key))
        connection.execute(sa.delete(_c).where(_is_of(sa.literal(session_key)), ~others))


def _is_of(key: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Whether a conversation of that name is of the row's chat."""
    begins = sa.func.substr(key, 1, sa.func.length(_c.c.chat) + 1)
    return sa.or_(key == _c.c.chat, begins == _c.c.chat.concat(":"))


def hook() -> ForgottenChats:
    """What takes part in removals."""
    return ForgottenChats()
