"""Messages of a session that are not in its log: commands with their answers, and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import sqlalchemy as sa

from nanobot.messages import InboundMessage, OutboundKind, OutboundMessage
from nanobot.session import keys
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, transaction

_i = schema.inbound
_o = schema.outbound

LOOKED_THROUGH = 2_000
"""The number of latest messages to a chat to read."""
_MOST_CHATS = 20


Notice: TypeAlias = tuple[int, float, OutboundMessage, InboundMessage | None]
"""Its number, the time, the answer, and the message it replies to; None if that message no longer
exists.
"""


class SqlNotices(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    @transaction()
    def latest(
        self,
        connection: Connection,
        session: str,
        chats: Sequence[str],
        *,
        since: float,
        limit: int,
    ) -> list[Notice]:
        """The notices of a session to `chats` ("CHANNEL:CHAT"), the newest first. By the session
        alone, the query would read all messages ever stored.
        """
        columns = (_o.c.id, _o.c.created_at, _o.c.body, _o.c.session_key)
        answers: dict[int, tuple[float, OutboundMessage]] = {}
        for chat in dict.fromkeys(chats[:_MOST_CHATS]):
            channel, _, chat_id = chat.partition(":")
            there = (_o.c.channel == channel, _o.c.chat_id == chat_id, schema.OUTBOUND_FOR_CHAT)
            query = sa.select(*columns).where(*there).order_by(_o.c.id.desc()).limit(LOOKED_THROUGH)
            for row in connection.execute(query):
                if row.session_key != session or row.created_at < since:
                    continue
                answer = msgspec.json.decode(row.body, type=OutboundMessage)
                if answer.kind is OutboundKind.NOTICE and answer.text:
                    answers[row.id] = (row.created_at, answer)
        return [
            (number, at, answer, _answered(connection, answer))
            for number, (at, answer) in sorted(answers.items(), reverse=True)[:limit]
        ]


def _answered(connection: Connection, answer: OutboundMessage) -> InboundMessage | None:
    """The message that this answered."""
    prefix = keys.NOTICES.of(keys.message(answer.address, ""))
    if not answer.key.startswith(prefix):
        return None
    query = sa.select(_i.c.body).where(
        _i.c.channel == answer.address.channel,
        _i.c.chat_id == answer.address.chat_id,
        _i.c.dedupe_key == answer.key.removeprefix(prefix),
    )
    body = connection.scalar(query.order_by(_i.c.id.desc()).limit(1))
    return None if body is None else msgspec.json.decode(body, type=InboundMessage)
