"""The chats of a channel that this process sends to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nanobot.messages import Address
from nanobot.session.journal import Journal
from nanobot.session.outbox import Taken


class ChatLeases:
    """All chats, because this process alone uses the store. Where several processes share a bot,
    another class takes its place (`Sharing.chats`): there a chat is taken before anything is shown
    in it. `helping`: another process receives for the channel."""

    def __init__(self, journal: Journal) -> None:
        self.helping = False
        self._journal = journal

    def ours(self, chat_id: str) -> bool:
        """Whether the chat certainly belongs to this process; otherwise call `take`."""
        return True

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
