"""Other processes over the same store, as the bus notifies them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from nanobot.messages import Address, RunEvent
from nanobot.session.entries import ReplyEntry
from nanobot.session.runs import Run
from nanobot.session.states import RunKind


class Peers:
    """No other processes. Nothing blocks, and notifications may be lost: processes
    check the store."""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Tell them and hear them within the context."""
        yield

    async def tell_to_look(self) -> None:
        """A command has changed the store without serving it."""

    def woken(self, session_key: str, kind: RunKind, inbound_id: int, held: float) -> bool:
        """A lane is ready in `held` seconds; 0: it has no message that has just arrived. True: it
        is another process's turn to take it."""
        return False

    def leaves(self, session_key: str) -> bool:
        """Whether other processes leave a lane that becomes ready here to this one."""
        return True

    def owed(self, address: Address) -> None:
        """A chat has a message to send."""

    def passed_on(self, address: Address, holder: str) -> None:
        """A chat has a message that `holder` must send ("": the process that receives)."""

    def speakers(self, channel: str) -> int:
        """How many other processes send for the bot of a channel."""
        return 0

    def slowed(self, channel: str, seconds: float) -> None:
        """The platform wants no requests from the bot for so long (0: fewer requests)."""

    def draft_in(self, address: Address) -> str:
        """The text of the draft that another process shows in a chat; "" if unknown."""
        return ""

    def shows(self, run_id: str) -> bool:
        """Whether the process that drives a run also shows it in its chat."""
        return False

    def stopped(self, run: Run) -> None:
        """A run was ended from outside its driver."""

    def emitted(self, event: RunEvent) -> None:
        """An event of a run that this process drives."""

    def watching(self, session_key: str, *, begins: bool) -> None:
        """The first watcher of a session came to this process, or the last one left."""

    def watched(self, session_key: str) -> bool:
        """Whether another process has a watcher of the session."""
        return False

    def here_changed(self) -> None:
        """This process's activity has changed."""

    def served(self) -> Collection[str]:
        """The channels that others serve."""
        return ()

    def text_so_far(self, run_id: str) -> str | None:
        """The text of a run in another process so far; None if unknown."""
        return None

    def partial(self, session_key: str) -> ReplyEntry | None:
        """The same by the session."""
        return None
