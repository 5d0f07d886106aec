"""Which of the processes that share a store does what, and the chats that this one sends to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from nanobot.bus.core import Bus
from nanobot.messages import Address
from nanobot.ports import Channel
from nanobot.session.journal import Journal
from nanobot.session.outbox import PartRow, Taken


class Served(Protocol):
    """A channel to be served."""

    async def work(self, *, speaks: bool = True, receives: bool = True) -> None:
        """Send to its chats, receive from its platform, or both, until cancelled."""

    def standby(self) -> None:
        """Another process receives for it."""


class ChatLeases:
    """All chats, because this process alone uses the store. Where several processes share a bot,
    another class takes its place (`Sharing.chats`): there a chat is taken before anything is shown
    in it. `helping`: another process receives for the channel."""

    def __init__(self, journal: Journal) -> None:
        self.helping = False
        self._journal = journal

    async def serve(self, channel: Served) -> None:
        """Serve the channel as far as this process does, until cancelled."""
        await channel.work()

    def ours(self, chat_id: str) -> bool:
        """Whether the chat certainly belongs to this process; otherwise call `take`."""
        return True

    def attended(self, chat_id: str) -> bool:
        """Whether this process shows the chat's messages: its client is not attached elsewhere."""
        return True

    async def waited_for(self, part: PartRow) -> bool:
        """Wait if another process began to show a part a moment ago. True: it waited, so the row
        must be read again."""
        return False

    async def take(self, address: Address) -> Taken:
        """Acquire the chat and return its oldest message. Raises StoreError."""
        return Taken(await self._journal.next_outbound(address))

    async def speaks(self, address: Address) -> bool:
        """Acquire the chat to show something; whether that succeeded. Raises StoreError."""
        return True

    @contextmanager
    def using(self, chat_id: str) -> Iterator[None]:
        """Keep a chat while inside."""
        yield

    async def give(self, address: Address) -> None:
        """Release a chat that no other task here uses."""

    def rest(self) -> None:
        """This process cannot reach the platform: if another one receives, let it send."""

    async def keep(self) -> None:
        """Keep the chats in use and release the others, until cancelled."""

    async def leave(self) -> None:
        """Release all chats that are not in use, because this process ends."""


class Sharing:
    """This process alone uses the store, so it does everything. The plugin of a database that can
    be shared gives another one."""

    def chats(
        self, name: str, channel: Channel, bus: Bus, attended: Callable[[str], bool] | None
    ) -> ChatLeases:
        """The chats of a channel that this process sends to. `attended`: whether a client is
        attached here to the chat with that id; None: chats of this channel have no clients."""
        return ChatLeases(bus.journal)

    async def alone(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work in one of the processes at a time, until cancelled. `name`: in parentheses,
        as no channel is named."""
        await work()
