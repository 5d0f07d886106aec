"""What is owed to chats, and how far its delivery has come: that part of the Journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from nanobot.bus.events import Address, OutboundMessage
from nanobot.ports import OutboundPart


class OutboundRow(msgspec.Struct, frozen=True, kw_only=True):
    """A message owed, with where its delivery stands. `parts` is empty until it was rendered.
    `repeats` counts the sends after which it was unknown whether one before had arrived."""

    id: int
    session_key: str
    run_id: str
    state: str
    message: OutboundMessage
    attempts: int
    not_before: float
    maybe_duplicate: bool
    repeats: int = 0
    created_at: float
    error: str | None = None
    parts: tuple[PartRow, ...] = ()

    @property
    def standing(self) -> str | None:
        """The message in the chat that the first part is to replace, as long as it has not."""
        first = self.parts[0] if self.parts else None
        return first.receipt if first is not None and first.state != "sent" else None

    @property
    def preview(self) -> PartRow | None:
        """What was shown of the message, or was about to be, as long as it is not rendered."""
        first = self.parts[0] if self.parts else None
        return first if first is not None and first.state == "preview" else None


class PartRow(msgspec.Struct, frozen=True, kw_only=True):
    """One part: pending, sending (perhaps applied), sent (with a receipt) or a standing preview."""

    idx: int
    part: OutboundPart
    state: str
    receipt: str | None = None


class Outgoing(Protocol):
    """Verbs of the Journal."""

    async def preview(
        self, run_id: str, message: OutboundMessage, part: OutboundPart
    ) -> OutboundRow | None:
        """A preview of what the run will answer is about to be shown: a row that nobody sends, and
        that becomes the answer's (its key) once the run owes that. The row comes back with the
        receipt of what stands there already, from an earlier process too; else `receipt` or `defer`
        is to say what came of it. None: the run has ended, or it is unknown whether one stands."""
        ...

    async def owed_chats(self, channel: str) -> list[Address]:
        """Every chat of a channel with something unsent, oldest first."""
        ...

    async def next_outbound(self, address: Address) -> OutboundRow | None:
        """The oldest unsent message of a chat, with its parts."""
        ...

    async def outbound(self, key: str) -> OutboundRow | None:
        """The message of that key, whatever became of it."""
        ...

    async def begin_send(
        self, row: OutboundRow, parts: Sequence[OutboundPart], idx: int, *, duplicate: bool
    ) -> None:
        """Part `idx` is about to be sent (the parts are stored with the first, in the place of any
        before and of what stands in the chat by `row`). Raises Fenced when the message is no longer
        unsent."""
        ...

    async def receipt(
        self, row: OutboundRow, idx: int, message_id: str, *, begin: int | None
    ) -> OutboundRow | None:
        """Part `idx` was sent; part `begin` is about to be. After the last: the next message."""
        ...

    async def defer(self, row: OutboundRow, idx: int, not_before: float, error: str) -> None:
        """Nothing was applied: try again later. A part whose state in `row` is sending stays so:
        that an earlier attempt may have been applied is as true as before."""
        ...

    async def bury(self, row: OutboundRow, error: str, *, whole_chat: bool) -> int:
        """A final failure of the message, or of everything owed to its chat; tells the session.
        Returns how many messages died."""
        ...
