"""Messages of a conversation that are not in its log, as people see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.text import OwnText, Spans


class NoticeView(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the gateway that no log contains: the answer to a command, or a refusal.
    `said` is the message that it answers, `by` that message's sender; both are empty if it
    answers none. `own`: where nanobot's own words are in an English `text` (start and end)."""

    id: int
    key: str
    at: float
    said: str
    by: str
    text: OwnText
    own: Spans = ()


class Notices(Protocol):
    """Reads messages of the gateway that no log contains."""

    async def latest(
        self, session: str, chats: Sequence[str], *, since: float, limit: int
    ) -> list[tuple[int, float, OutboundMessage, InboundMessage | None]]:
        """Those of a session to `chats` ("CHANNEL:CHAT"), the newest first, with their numbers,
        their times, and the messages that they answer."""
        ...
