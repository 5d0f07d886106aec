"""The delivery result of a message that a run has just sent, for the model."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nanobot.agent.active_run import ActiveRun
from nanobot.errors import ToolError
from nanobot.messages import OutboundMessage
from nanobot.ports import Clock
from nanobot.session.journal import Journal
from nanobot.tools.base import ToolOutput

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

    async def given(self, active: ActiveRun, output: ToolOutput) -> tuple[ToolOutput, bool]:
        """The message's key is the call's, so a call repeated after a crash here does not send it
        again."""
        await active.record((), output.messages)
        results, ok = list[str](), True
        for message in output.messages:
            try:
                results.append(await self._of(message) or output.text)
            except ToolError as error:
                results.append(f"error: {error}")
                ok = False
        return msgspec.structs.replace(output, text="\n".join(results), messages=()), ok

    async def _of(self, message: OutboundMessage) -> str:
        """The delivery result of a message as text; "" if it is still open. Raises ToolError if the
        message will not arrive."""
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
