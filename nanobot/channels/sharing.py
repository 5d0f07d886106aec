"""The port to the processes that share a store: which of them does what one of them does at a time.
The plugin of a database that can be shared offers it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from nanobot.bus.core import Bus
from nanobot.channels.chat_leases import ChatLeases
from nanobot.session.journal import Journal


class Turn(Protocol):
    """The right to do one thing."""

    async def take(self) -> bool:
        """Whether this process has it now; False if another one has it or the store fails."""
        ...

    async def wait(self) -> None:
        """Return when this process has it."""
        ...

    async def holding(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work while this process keeps it, which it has now; then release it."""
        ...


class Sharing(Protocol):
    """What processes over one store agree on."""

    def turn(self, name: str, *, shares: bool = False) -> Turn:
        """The right to serve the channel of that name, or to do what a name in parentheses says.
        `shares`: the holder lets other processes send to the channel's chats."""
        ...

    def chats(self, channel: str, journal: Journal) -> ChatLeases:
        """The chats of a channel that this process sends to."""
        ...

    async def outbox(self, channel: str, bus: Bus) -> None:
        """Deliver what other processes left for chats of a channel that this process serves, until
        cancelled."""
        ...

    async def files(self, channel: str, bus: Bus) -> None:
        """Fetch the files of messages that they admitted, until cancelled."""
        ...
