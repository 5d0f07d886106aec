"""The other processes over one store, as the bus tells them what happens here."""

from __future__ import annotations

from nanobot.messages import Address, RunEvent
from nanobot.ports import Clock
from nanobot.session.runs import Run
from nanobot.session.states import RunKind

_LOOK_SECONDS = 2.0


class Peers:
    """None, here. Nothing of this blocks, and any of it may be lost: whoever needs it looks at the
    store, too."""

    def woken(self, session_key: str, kind: RunKind, inbound_id: int, held: float) -> bool:
        """A lane has something to do, in `held` seconds; 0: no message that came just now. True: it
        is another process's turn to take it."""
        return False

    def owed(self, address: Address) -> None:
        """A chat is owed something."""

    def passed_on(self, address: Address, holder: str) -> None:
        """A chat is owed something that `holder` is to send ("": the process that receives)."""

    def speakers(self, channel: str) -> int:
        """How many other processes send for the bot of a channel."""
        return 0

    def slowed(self, channel: str, seconds: float) -> None:
        """The platform wants the bot to be left alone for so long (0: to be slower)."""

    def draft_in(self, address: Address) -> str:
        """What the draft says that another process shows in a chat; "" if nothing is known."""
        return ""

    def shows(self, run_id: str) -> bool:
        """Whether the process that drives a run shows it in its chat, too."""
        return False

    def stopped(self, run: Run) -> None:
        """A run was ended over the head of whoever drives it."""

    def emitted(self, event: RunEvent) -> None:
        """A run that is driven here came so far."""

    def watching(self, session_key: str, *, begins: bool) -> None:
        """The first watcher of a session came here, or the last one went."""

    def watched(self, session_key: str) -> bool:
        """Whether somebody elsewhere watches a session."""
        return False

    def here_changed(self) -> None:
        """What this process does has changed."""

    async def look_due(self, clock: Clock) -> None:
        """Wait until the store is to be looked at for what others may have left there."""
        await clock.sleep(_LOOK_SECONDS)
