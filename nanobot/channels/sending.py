"""What a delivery needs to show messages in the chats of one channel."""

from __future__ import annotations

from typing import Protocol

from nanobot.channels.moved_chats import MovedChats
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Channel, OutboundPart
from nanobot.text import Sentence


class Sending(Protocol):
    """Renders messages and sends their parts, as fast as the platform allows; see PartSender."""

    @property
    def channel(self) -> Channel:
        """The adapter."""

    @property
    def moved(self) -> MovedChats:
        """The current ids of its chats."""

    async def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts of a message, each with a permanently unique key."""

    async def line(self, address: Address, text: Sentence, key: str) -> OutboundPart:
        """A line of nanobot's own, as a part of its own."""

    def rendered(self, message: OutboundMessage) -> list[OutboundPart]:
        """The same at once; none for a long text or with files."""

    def free(self, chat_id: str) -> bool:
        """Whether a send to the chat would begin at once."""

    async def send_of(self, message: OutboundMessage, part: OutboundPart) -> str:
        """Send one part; returns its message id, "" if it is not shown. Raises DeliveryError."""

    async def replace(self, address: Address, message_id: str, part: OutboundPart) -> str:
        """Edit a message of ours into this part; returns its id. Raises Refused if it must be sent
        instead, and NotSent if the outcome is unknown, because an edit can be repeated."""

    async def discard(self, address: Address, message_id: str) -> None:
        """Delete a message of ours that its answer cannot replace, if that is possible."""

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The message id of a part that may have been sent, None if it was not. Raises Uncertain,
        NotSent and OutcomeUnknown."""
