"""Calls to platforms that can show text while it is written."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.channels.companions import ChannelParts
from nanobot.errors import Refused
from nanobot.messages import Address, Step
from nanobot.ports import Drafting, OutboundPart, Streaming


class Calls:
    """Those of one channel: drafts, and messages that grow."""

    def __init__(self, parts: ChannelParts) -> None:
        self._channel = parts.channel
        self._sender = parts.sender
        self._moved = parts.moved

    def drafts(self, address: Address) -> bool:
        """Whether that chat shows drafts."""
        channel = self._channel
        return isinstance(channel, Drafting) and channel.drafts(self._moved.there(address))

    async def draft(self, address: Address, key: str, part: OutboundPart) -> None:
        """Show a draft, see ports.Drafting. The caller must keep to the rate."""
        channel, there = self._channel, self._moved.there(address)
        if not isinstance(channel, Drafting):
            raise Refused("there are no drafts here")
        await self._sender.contained(address, lambda: channel.draft(there, key, part))

    def streams(self, address: Address) -> bool:
        """Whether that chat has growing messages."""
        channel = self._channel
        return isinstance(channel, Streaming) and channel.streams(self._moved.there(address))

    async def start(
        self, address: Address, part: OutboundPart, steps: Sequence[Step], reply_to: str | None
    ) -> str:
        """Start a growing message; see ports.Streaming."""
        channel, there = self._channel, self._moved.there(address)
        if not isinstance(channel, Streaming):
            raise Refused("messages do not grow here")
        return await self._sender.paced(
            address, lambda: channel.start(there, part, steps, reply_to)
        )

    async def grow(self, address: Address, message_id: str, steps: Sequence[Step]) -> None:
        """Extend one; see ports.Streaming. The caller must keep to the rate."""
        channel, there = self._channel, self._moved.there(address)
        if not isinstance(channel, Streaming):
            raise Refused("messages do not grow here")
        await self._sender.contained(address, lambda: channel.grow(there, message_id, steps))
