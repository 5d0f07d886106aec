"""Answers that are rendered before they are stored: the transaction that ends a run then also
records that the send begins, and no other has to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nanobot.ports import OutboundPart
from nanobot.session.outbox import OutboundRow


class Departure:
    """A chat that is kept for one message, from before the message is stored until it is sent. See
    session.outbox.Departure."""

    def __init__(self, key: str, parts: Sequence[OutboundPart]) -> None:
        self.key = key
        self.parts = tuple(parts)
        self.row: OutboundRow | None = None
        self._stored = asyncio.Event()

    def __enter__(self) -> Departure:
        return self

    def __exit__(self, *failure: object) -> None:
        """Nothing more is stored, or nobody learns whether it was."""
        self._stored.set()

    async def stored(self) -> OutboundRow | None:
        """Wait for the message. None: its send has not begun, as far as is known."""
        await self._stored.wait()
        return self.row

    def is_unsent(self, row: OutboundRow) -> bool:
        """Whether this is the message: its send was recorded, and has not begun."""
        return row.message.key == self.key and row.state == "sending" and row.attempts == 1
