"""What plugins change in messages with nanobot's own words, directly before these are rendered."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.bus.core import Outgoing
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.text import Sentence


class Changes:
    """The functions of plugins, in their order."""

    def __init__(self, functions: Sequence[Outgoing]) -> None:
        self._functions = functions

    def concern(self, message: OutboundMessage) -> bool:
        """Whether the message may be changed."""
        return bool(self._functions and message.own_words)

    async def made(self, message: OutboundMessage) -> OutboundMessage:
        """The message with all changes."""
        for change in self._functions if message.own_words else ():
            message = await change(message)
        return message

    async def line(self, address: Address, text: Sentence, key: str) -> OutboundPart:
        """A line of nanobot's own, as a part of its own."""
        line = OutboundMessage(address=address, text=text, key=key, kind=OutboundKind.NOTICE)
        return OutboundPart(text=(await self.made(line)).text, key=key)
