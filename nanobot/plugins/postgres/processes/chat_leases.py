"""Leases of the chats that this process sends to, when several processes share a bot.

A chat's lease is acquired before anything is shown there, and released some time later. So at any
time the answers, previews and drafts of a chat come from one process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.chat_leases import ChatLeases, Served
from nanobot.errors import StoreError
from nanobot.messages import Address
from nanobot.plugins.postgres.processes.serving import LeasedChannel
from nanobot.plugins.postgres.store.lease_terms import CHAT
from nanobot.plugins.postgres.store.leases import SqlLeases
from nanobot.ports import Clock
from nanobot.session.journal import Journal
from nanobot.session.outbox import Taken

KEPT_SECONDS = 30.0
"""A lease is released this long after its last use."""
REST_SECONDS = 30.0
"""A process that cannot reach the platform leaves its chats this long to the one that receives."""


class _Chat(msgspec.Struct):
    """When the lease was renewed, how many use it, and whether it was lost meanwhile."""

    renewed: float = -CHAT.seconds
    uses: int = 0
    lost: bool = False


class SharedChatLeases(ChatLeases):
    """Other processes may send to these chats, too, so each needs a lease."""

    def __init__(
        self,
        channel: str,
        journal: Journal,
        leases: SqlLeases,
        clock: Clock,
        leased: LeasedChannel,
    ) -> None:
        super().__init__(journal)
        self._leases = leases
        self._leased = leased
        self._channel = channel
        self._clock = clock
        self._chats: dict[str, _Chat] = {}
        self._some = asyncio.Event()
        self._rested = 0.0

    async def serve(self, channel: Served) -> None:
        await self._leased.serve(channel, self)

    def ours(self, chat_id: str) -> bool:
        chat = self._chats.get(chat_id)
        return chat is not None and self._clock.monotonic() - chat.renewed < CHAT.give_up

    async def take(self, address: Address) -> Taken:
        """If several tasks here use a chat and its lease is lost, none of them acquires it again,
        because their work belongs to the time before."""
        if self.ours(address.chat_id):
            return Taken(await self._journal.next_outbound(address))
        began = self._clock.monotonic()
        chat = self._chats.setdefault(address.chat_id, _Chat())
        chat.lost = chat.uses > 1 and (chat.lost or chat.renewed >= 0)
        if chat.lost or (self.helping and began < self._rested):
            return Taken(holder="")
        taken = await self._leases.take_chat(address, helping=self.helping)
        if taken.ours:
            chat.renewed = began
        return taken

    async def speaks(self, address: Address) -> bool:
        return self.ours(address.chat_id) or (await self.take(address)).ours

    @contextmanager
    def using(self, chat_id: str) -> Iterator[None]:
        """Unless the store fails."""
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
        chat = self._chats.get(address.chat_id)
        if chat is not None and chat.uses <= 1:
            chat.renewed = -CHAT.seconds
            with suppress(StoreError):
                await self._leases.leave_chats([address])

    def rest(self) -> None:
        self._rested = self._clock.monotonic() + REST_SECONDS

    async def keep(self) -> None:
        while True:
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
            kept = {address.chat_id for address in await self._leases.renew_chats(addresses)}
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
            await self._leases.leave_chats([Address(self._channel, key) for key in idle])

    async def leave(self) -> None:
        idle = [key for key, chat in self._chats.items() if not chat.uses and chat.renewed >= 0]
        if idle:
            with suppress(StoreError):
                await self._leases.leave_chats([Address(self._channel, key) for key in idle])
