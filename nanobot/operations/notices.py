"""The port to messages of a conversation that are not in its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nanobot.messages import InboundMessage, OutboundMessage


class Notices(Protocol):
    """Reads messages of the gateway that no log contains."""

    async def latest(
        self, session: str, chats: Sequence[str], *, since: float, limit: int
    ) -> list[tuple[int, float, OutboundMessage, InboundMessage | None]]:
        """Those of a session to `chats` ("CHANNEL:CHAT"), the newest first, with their numbers,
        their times, and the messages that they answer."""
        ...
