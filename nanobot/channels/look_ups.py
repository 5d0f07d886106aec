"""Look-ups of parts in doubt of one chat: how often, and for how long."""

from __future__ import annotations

from nanobot.channels.delivery_parts import DeliveryParts
from nanobot.errors import NotSent, OutcomeUnknown, Refused, Uncertain
from nanobot.ports import Confiding
from nanobot.session.outbox import OutboundRow

LOOKUPS = 10
LOOKUP_SECONDS = 120.0
"""A look-up that fails is retried this often and this long. Then the part is repeated, with a line
that says so."""


class LookUps:
    """The look-ups of one chat, with the number of failures in a row."""

    def __init__(self, parts: DeliveryParts) -> None:
        self._sender = parts.sender
        self._clock = parts.clock
        self._outage = parts.outage
        self._reconciles = parts.sender.channel.capabilities.reconciles
        self._failed = 0
        self._first = 0.0

    async def receipt(self, row: OutboundRow, idx: int) -> str | None:
        """The message id of a part in doubt, None if it was not applied. Raises Uncertain if it
        cannot be known, NotSent to ask again later, or the reason why the chat is refused."""
        if not self._reconciles:
            await self._outage.clear(row.message.address.chat_id)
        # No history shows messages that only one person could see.
        private = row.message.only_for and isinstance(self._sender.channel, Confiding)
        if not self._reconciles or private:
            raise Uncertain("the platform cannot be asked")
        part = row.parts[idx]
        try:
            receipt = await self._sender.find(row.message.address, part.part, part.began_at)
        except Refused as error:
            raise Uncertain(str(error)) from error
        except (NotSent, OutcomeUnknown) as error:
            self._fail(error)
            requested = error.retry_after if isinstance(error, NotSent) else None
            raise NotSent(f"it cannot be looked up: {error}", requested) from error
        self._failed = 0
        return receipt

    def _fail(self, error: NotSent | OutcomeUnknown) -> None:
        if not self._failed:
            self._first = self._clock.monotonic()
        self._failed += 1
        lasted = self._clock.monotonic() - self._first
        if self._failed >= LOOKUPS and lasted >= LOOKUP_SECONDS:
            self._failed = 0
            raise Uncertain(str(error)) from error
