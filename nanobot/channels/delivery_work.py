"""A message on its way through the delivery to its chat."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from nanobot.channels.next_move import Memory
from nanobot.ports import OutboundPart
from nanobot.session.outbox import OutboundRow, PartRow


class Work(msgspec.Struct, frozen=True):
    """A message being delivered: its row, its parts, and what this process knows about it."""

    row: OutboundRow
    parts: tuple[OutboundPart, ...]
    memory: Memory

    def with_memory(self, **changes: Any) -> Work:
        """A copy with these changes of the memory."""
        memory = msgspec.structs.replace(self.memory, failure=None, **changes)
        return Work(self.row, self.parts, memory)


class Left(msgspec.Struct, frozen=True):
    """Nothing can be done about the message now; `row` is the chat's next message."""

    row: OutboundRow | None


DeliveryStep: TypeAlias = Work | Left


def standing(row: OutboundRow, receipt: str | None) -> OutboundRow:
    """The row while its first part replaces that message."""
    first = PartRow(idx=0, part=OutboundPart(text=""), state="pending", receipt=receipt)
    return msgspec.structs.replace(row, parts=(first,))
