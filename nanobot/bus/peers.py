"""The other processes over one store, as the bus tells them what happens here."""

from __future__ import annotations

from nanobot.messages import Address, RunEvent
from nanobot.session.runs import Run
from nanobot.session.states import RunKind


class Peers:
    """None, here. Nothing of this blocks, and any of it may be lost: whoever needs it looks at the
    store, too."""

    def woken(self, session_key: str, kind: RunKind, inbound_id: int, held: float) -> None:
        """A lane has something to do, in `held` seconds; 0: no message that came just now."""

    def owed(self, address: Address) -> None:
        """A chat is owed something."""

    def stopped(self, run: Run) -> None:
        """A run was ended over the head of whoever drives it."""

    def emitted(self, event: RunEvent) -> None:
        """A run that is driven here came so far."""

    def watching(self, session_key: str, *, begins: bool) -> None:
        """The first watcher of a session came here, or the last one went."""

    def watched(self, session_key: str) -> bool:
        """Whether somebody elsewhere watches a session."""
        return False
