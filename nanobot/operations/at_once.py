"""Chats that cannot tell the order of messages, or wait for commands."""

from __future__ import annotations

from nanobot.messages import InboundMessage
from nanobot.session.inbox import Admission
from nanobot.session.said import Perform, Said

COMMAND_SECONDS = 30.0


def unordered(message: InboundMessage, receipt: str, shown_at: float) -> None:
    """The Order of a platform that has none."""


class AtOnce:
    """The Waiting of a chat that must have the answer with the message: the other chats of its
    channel wait meanwhile."""

    async def command(self, said: Said, perform: Perform) -> Admission:
        return await perform(COMMAND_SECONDS)

    def stop(self, said: Said, *, everyone: bool) -> bool:
        return False
