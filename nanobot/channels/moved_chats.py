"""Chats that got a new id on their platform, such as a Telegram group that grows."""

from __future__ import annotations

import msgspec
from loguru import logger

from nanobot.messages import Address, InboundMessage
from nanobot.ports import Clock
from nanobot.retries import until_stored
from nanobot.session.journal import Journal


class MovedChats:
    """The platform's current ids of one channel's chats. Sessions, jobs, rules, settings and outbox
    rows keep the id by which a chat was first known, so they do not have to move. The host
    translates ids only in traffic with the platform."""

    def __init__(self, channel: str, journal: Journal, clock: Clock) -> None:
        self._channel = channel
        self._journal = journal
        self._clock = clock
        self._here: dict[str, str] = {}
        self._there: dict[str, str] = {}

    async def load(self) -> None:
        """Read the stored moves. Call this before translating anything."""
        what = f"{self._channel}: where its chats are"
        moves = await until_stored(
            lambda: self._journal.chat_moves(self._channel), self._clock, what
        )
        for platform_id, chat_id in moves:
            self._know(platform_id, chat_id)

    async def moved(self, old: str, new: str) -> bool:
        """A chat has the new id `new`. False: that was known. Raises StoreError."""
        if not await self._journal.move_chat(self._channel, old, new):
            return False
        logger.info("{}: the chat {} has the new id {}", self._channel, old, new)
        self._know(new, self._here.get(old, old))
        return True

    def there(self, address: Address) -> Address:
        """The platform's current address of one of our chats."""
        return _at(address, self._there.get(address.chat_id))

    def address(self, address: Address) -> Address:
        """Our address of a chat, from the platform's."""
        return _at(address, self._here.get(address.chat_id))

    def message(self, message: InboundMessage) -> InboundMessage:
        """A message with our address of its chat. Its keys include the new chat's id, because the
        platform may number messages there from one again."""
        chat_id = message.address.chat_id
        if chat_id not in self._here:
            return message
        return msgspec.structs.replace(
            message,
            address=self.address(message.address),
            dedupe_key=f"{chat_id}:{message.dedupe_key}",
            edit_of=None if message.edit_of is None else f"{chat_id}:{message.edit_of}",
        )

    def _know(self, platform_id: str, chat_id: str) -> None:
        self._here[platform_id] = chat_id
        self._there[chat_id] = platform_id


def _at(address: Address, chat_id: str | None) -> Address:
    return address if chat_id is None else msgspec.structs.replace(address, chat_id=chat_id)
