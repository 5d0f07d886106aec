"""The outbox part of the Journal: messages to chats, and how far each is delivered."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

from nanobot.messages import OutboundMessage
from nanobot.ports import OutboundPart

BuryScope: TypeAlias = Literal["message", "thread", "chat"]


class OutboundRow(msgspec.Struct, frozen=True, kw_only=True):
    """An outgoing message and its delivery state. `parts` is empty until it is rendered.
    `duplicate_sends`: sends made while it was unknown whether an earlier one had arrived."""

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
        """The message in the chat that the first part will replace; None once it has."""
        first = self.parts[0] if self.parts else None
        return first.receipt if first is not None and first.state != "sent" else None

    @property
    def preview(self) -> PartRow | None:
        """The preview that was (or may have been) shown, until the message is rendered."""
        first = self.parts[0] if self.parts else None
        return first if first is not None and first.state == "preview" else None


class Taken(msgspec.Struct, frozen=True):
    """The result of taking a chat. If it is `ours`: its oldest unsent message. Otherwise `holder`:
    the process that sends to it ("": unknown)."""

    row: OutboundRow | None = None
    holder: str | None = None

    @property
    def ours(self) -> bool:
        return self.holder is None


class PartRow(msgspec.Struct, frozen=True, kw_only=True):
    """One part: pending, sending (it may have arrived), sent (with a receipt), or a shown preview.
    `began_at`: when the first send with an unknown outcome began."""

    idx: int
    part: OutboundPart
    state: str
    receipt: str | None = None
    began_at: float = 0.0


class Departure(Protocol):
    """A message that its channel has rendered and will send as soon as it is stored. Used as a
    context manager around the verb that stores it; `row` is set there if its send is recorded."""

    parts: tuple[OutboundPart, ...]
    row: OutboundRow | None

    def __enter__(self) -> Departure: ...

    def __exit__(self, *failure: object) -> None: ...
