"""The chats of one channel that this process speaks to, where several share the bot.

A chat is taken when something is to be shown there, and let go of a while after: answers, previews
and drafts of one chat come from one process at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import StoreError
from nanobot.messages import Address
from nanobot.ports import Clock
from nanobot.session.journal import Journal
from nanobot.session.lease import CHAT
from nanobot.session.outbox import Taken

KEPT_SECONDS = 30.0
"""So long after the last use a chat is let go of: one that was used a moment ago is ours still."""
REST_SECONDS = 30.0
"""So long a process that cannot reach the platform leaves its chats to the one that receives."""


class _Chat(msgspec.Struct):
    """Since when the lease lasts, how many use it, and whether it was lost while they did."""

    renewed: float = -CHAT.seconds
    uses: int = 0
    lost: bool = False


class ChatLeases:
    """`shared`: other processes may speak to these chats, so that each is taken by lease. `helping`
    says whether another process receives for the channel."""

    def __init__(self, channel: str, journal: Journal, clock: Clock, *, shared: bool) -> None:
        self.helping = False
        self._channel = channel
        self._journal = journal
        self._clock = clock
        self._shared = shared
        self._chats: dict[str, _Chat] = {}
        self._some = asyncio.Event()
        self._rested = 0.0

    def ours(self, chat_id: str) -> bool:
        """Whether nobody else speaks to the chat for certain; else it has to be taken."""
        if not self._shared:
            return True
        chat = self._chats.get(chat_id)
        return chat is not None and self._clock.monotonic() - chat.renewed < CHAT.give_up

    async def take(self, address: Address) -> Taken:
        """The oldest message that a chat is owed, if it is ours to speak to. Raises StoreError.

        Of several that use a chat here none takes it again once it was lost: what the others are
        about belongs to the time before.
        """
        if self.ours(address.chat_id):
            return Taken(await self._journal.next_outbound(address))
        began = self._clock.monotonic()
        chat = self._chats.setdefault(address.chat_id, _Chat())
        chat.lost = chat.uses > 1 and (chat.lost or chat.renewed >= 0)
        if chat.lost or (self.helping and began < self._rested):
            return Taken(holder="")
        taken = await self._journal.take_chat(address, helping=self.helping)
        if taken.ours:
            chat.renewed = began
        return taken

    async def speaks(self, address: Address) -> bool:
        """Whether a chat is ours to speak to, now that something is to be shown there. Raises
        StoreError."""
        return self.ours(address.chat_id) or (await self.take(address)).ours

    @contextmanager
    def using(self, chat_id: str) -> Iterator[None]:
        """Within, a chat that is ours stays ours, unless the store fails."""
        chat = self._chats.setdefault(chat_id, _Chat())
        chat.uses += 1
        self._some.set()
        try:
            yield
        finally:
            chat.uses -= 1
            if chat.renewed < 0 and not chat.uses:
                self._chats.pop(chat_id, None)

    async def give(self, address: Address) -> None:
        """Let go of a chat that nobody else here uses."""
        chat = self._chats.get(address.chat_id)
        if self._shared and chat is not None and chat.uses <= 1:
            chat.renewed = -CHAT.seconds
            with suppress(StoreError):
                await self._journal.leave_chats([address])

    def rest(self) -> None:
        """The platform cannot be reached from here: while another process receives, it speaks."""
        self._rested = self._clock.monotonic() + REST_SECONDS

    async def keep(self) -> None:
        """Renew what is in use, let go of what is not, until cancelled."""
        while self._shared:
            if not self._chats:
                self._some.clear()
                await self._some.wait()
            await self._clock.sleep(CHAT.renew)
            with boundary(f"{self._channel}: keeping its chats"):
                try:
                    await self._renew()
                except StoreError as error:
                    logger.warning("{}: its chats cannot be kept: {}", self._channel, error)

    async def _renew(self) -> None:
        began = self._clock.monotonic()
        used = {key: chat for key, chat in self._chats.items() if chat.uses and chat.renewed >= 0}
        if used:
            addresses = [Address(self._channel, key) for key in used]
            kept = {address.chat_id for address in await self._journal.renew_chats(addresses)}
            for key, chat in used.items():
                if key in kept:
                    chat.renewed = began
                else:
                    chat.renewed, chat.lost = -CHAT.seconds, True
        over = began - KEPT_SECONDS
        idle = [key for key, chat in self._chats.items() if not chat.uses and chat.renewed < over]
        if idle:
            for key in idle:
                del self._chats[key]
            await self._journal.leave_chats([Address(self._channel, key) for key in idle])

    async def leave(self) -> None:
        """Let go of all that nobody uses: this process ends."""
        idle = [key for key, chat in self._chats.items() if not chat.uses and chat.renewed >= 0]
        if self._shared and idle:
            with suppress(StoreError):
                await self._journal.leave_chats([Address(self._channel, key) for key in idle])
