"""An intake without a host: records what a channel admits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from nanobot.messages import Address, InboundMessage
from nanobot.plugins.common.catching_up import CatchingUp
from nanobot.ports import CatchUp, History


class FakeIntake:
    """Keeps admitted messages and the cursor; `failures` are raised by the next admissions."""

    def __init__(self, cursor: str | None = None) -> None:
        self.stored = cursor
        self.addresses: list[Address] = []
        self.messages: list[InboundMessage] = []
        self.batches: list[tuple[list[InboundMessage], str | None]] = []
        self.failures: list[Exception] = []
        self.moves: list[tuple[str, str]] = []
        self.accounts: list[str] = []
        self.attempts = 0
        self.signs_of_life = 0
        self.on_admit: Callable[[], None] = lambda: None
        self._changed = asyncio.Event()

    async def account(self, identity: str) -> None:
        self.accounts.append(identity)

    async def cursor(self) -> str | None:
        return self.stored

    async def admit(self, messages: Sequence[InboundMessage], cursor: str | None = None) -> None:
        self.attempts += 1
        if self.failures:
            raise self.failures.pop(0)
        self.on_admit()
        self.messages.extend(messages)
        self.batches.append((list(messages), cursor))
        # As in the journal: no cursor leaves the one before.
        self.stored = self.stored if cursor is None else cursor
        self._wake()

    def in_order(self, history: History) -> CatchUp:
        return CatchingUp(self, history)

    async def chats(self) -> list[Address]:
        return self.addresses

    async def moved(self, old_chat_id: str, new_chat_id: str) -> None:
        self.moves.append((old_chat_id, new_chat_id))
        self._wake()

    def alive(self) -> None:
        self.signs_of_life += 1
        self._wake()

    async def until(self, holds: Callable[[], bool], timeout: float = 45.0) -> None:
        """Wait until something holds; it is asked again after every admission and sign of life."""
        async with asyncio.timeout(timeout):
            while not holds():
                await self._changed.wait()

    async def received(self, count: int) -> list[InboundMessage]:
        """The admitted messages, once there are so many."""
        await self.until(lambda: len(self.messages) >= count)
        return self.messages

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
