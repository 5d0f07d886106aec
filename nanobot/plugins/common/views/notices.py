"""Messages of a conversation that are not in its log, as people see them."""

from __future__ import annotations

import msgspec

from nanobot.addresses import called, chat_of
from nanobot.messages import WEB
from nanobot.operations.operation import OperationContext
from nanobot.text import OwnText, Spans


class NoticeView(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the gateway that no log contains: the answer to a command, or a refusal."""

    id: int
    key: str
    at: float
    said: str
    """The message that it answers; "": none."""
    by: str
    """The sender of that message; "": there is none."""
    text: OwnText
    own: Spans = ()
    """Where nanobot's own words are in an English `text` (start and end)."""


async def notices_of(
    context: OperationContext, session: str, *, since: float, limit: int
) -> list[NoticeView]:
    """Those of a session, the newest first."""
    from nanobot.plugins.common.store.notices import SqlNotices  # noqa: PLC0415 - loads the store
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    notices = SqlNotices(store.database, store.writer)
    rows = await notices.latest(session, _chats_of(session), since=since, limit=limit)
    return [
        NoticeView(
            id=number,
            key=answer.key,
            at=at,
            said="" if message is None else message.text,
            by="" if message is None else called(message.sender.name, message.sender.id),
            text=answer.text,
            own=answer.own_words,
        )
        for number, at, answer, message in rows
    ]


def _chats_of(session: str) -> list[str]:
    """The chats that a session of that name may be of: that of the page, and, as names of chats
    may have colons in them, each that its own name begins with."""
    channel, *parts = session.split(":")
    own = [":".join([channel, *parts[:count]]) for count in range(1, len(parts) + 1)]
    return own if channel == WEB else [f"{WEB}:{chat_of(session)}", *own]
