"""What was said in a conversation beside its log, as people see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from nanobot.messages import InboundMessage, OutboundMessage


class NoticeView(msgspec.Struct, frozen=True, kw_only=True):
    """A word of the gateway that no log has: the answer to a command, a refusal. `said` is what it
    answers, `by` who said that; both are empty where it answers nothing."""

    id: int
    key: str
    at: float
    said: str
    by: str
    text: str


class Notices(Protocol):
    """What was answered beside the logs."""

    async def latest(
        self, session: str, chats: Sequence[str], *, since: float, limit: int
    ) -> list[tuple[int, float, OutboundMessage, InboundMessage | None]]:
        """Those of a session to `chats` ("CHANNEL:CHAT"), the newest first, with their numbers,
        their times, and the messages that they answer."""
        ...
