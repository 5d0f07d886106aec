"""What is owed to chats, and how far its delivery has come: that part of the Journal."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from nanobot.messages import OutboundMessage
from nanobot.ports import OutboundPart

BuryScope: TypeAlias = Literal["message", "thread", "chat"]


class OutboundRow(msgspec.Struct, frozen=True, kw_only=True):
    """A message owed, with where its delivery stands. `parts` is empty until it was rendered.
    `duplicate_sends` counts the sends after which it was unknown whether one before had arrived."""

    id: int
    session_key: str
    run_id: str
    state: str
    message: OutboundMessage
    attempts: int
    not_before: float
    maybe_duplicate: bool
    duplicate_sends: int = 0
    created_at: float
    settled_at: float | None = None
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


class Taken(msgspec.Struct, frozen=True):
    """What came of taking a chat: the oldest message that it is owed, where it is `ours`; else
    `holder`, the process that speaks to it ("": unknown)."""

    row: OutboundRow | None = None
    holder: str | None = None

    @property
    def ours(self) -> bool:
        return self.holder is None


class PartRow(msgspec.Struct, frozen=True, kw_only=True):
    """One part: pending, sending (perhaps applied), sent (with a receipt) or a standing preview.
    `began_at`: when the first send began whose outcome is not known."""

    idx: int
    part: OutboundPart
    state: str
    receipt: str | None = None
    began_at: float = 0.0
