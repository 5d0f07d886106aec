"""The delivery result of a message that a run has just sent, for the model."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.errors import ToolError
from nanobot.messages import OutboundMessage
from nanobot.ports import Clock
from nanobot.session.journal import Journal

WAIT_SECONDS = 10.0
"""How long a run waits for the platform. Later results are reported to the conversation."""
_FIRST_LOOK = 0.05
_LOOK = 0.5


class ChatReceipts:
    """See tool_calls.Receipts. Waits until a message has arrived. `served`: the channels served
    here; for others it does not wait."""

    def __init__(self, journal: Journal, clock: Clock, served: Callable[[str], bool]) -> None:
        self._journal = journal
        self._clock = clock
        self._served = served

    async def of(self, message: OutboundMessage) -> str:
        if not self._served(message.address.channel):
            return ""
        until, pause = self._clock.monotonic() + WAIT_SECONDS, _FIRST_LOOK
        while True:
            row = await self._journal.outbound(message.key)
            if row is None or row.state == "dropped":
                raise ToolError("the message was discarded and will not be delivered")
            if row.state == "dead":
                raise ToolError(f"it could not be delivered: {row.error}")
            if row.state == "sent":
                ids = ", ".join(part.receipt for part in row.parts if part.receipt)
                repeated = " (it may have arrived twice)" if row.maybe_duplicate else ""
                return f"delivered{f' as message {ids}' if ids else ''}{repeated}"
            if row.state in ("held", "digested"):
                return "held back: that chat has heard enough unasked; it is sent when it may be"
            if self._clock.monotonic() + pause > until:
                return ""
            await self._clock.sleep(pause)
            pause = min(pause * 2, _LOOK)
