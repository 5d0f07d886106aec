"""An intake in memory, for channel checks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from nanobot.messages import Address, InboundMessage
from nanobot.plugins.common.catching_up import CatchingUp
from nanobot.plugins.kit.machine import PATIENCE
from nanobot.ports import CatchUp, History


class RecordingIntake:
    """An intake that records each offered message. It accepts no message until `opened`, and the
    next offers fail with `troubles`.
    """

    def __init__(self) -> None:
        self.offered: list[InboundMessage] = []
        self.taken: list[InboundMessage] = []
        self.troubles: list[Exception] = []
        self.moves: list[tuple[str, str]] = []
        self.living = False
        self.opened = asyncio.Event()
        self.opened.set()
        self._cursor: str | None = None
        self._changed = asyncio.Event()

    async def account(self, identity: str) -> None:
        """Always the same."""

    async def cursor(self) -> str | None:
        """The cursor of the last accepted batch."""
        return self._cursor

    def in_order(self, history: History) -> CatchUp:
        """Like the host."""
        return CatchingUp(self, history)

    async def chats(self) -> list[Address]:
        return list(dict.fromkeys(message.address for message in self.taken))

    async def admit(self, messages: Sequence[InboundMessage], cursor: str | None = None) -> None:
        """Accept them in time, or fail."""
        self.offered += messages
        self._changed.set()
        if messages:
            await self.opened.wait()
            if self.troubles:
                raise self.troubles.pop(0)
        self.taken += messages
        self._cursor = cursor or self._cursor
        self._changed.set()

    async def moved(self, old_chat_id: str, new_chat_id: str) -> None:
        self.moves.append((old_chat_id, new_chat_id))
        self._changed.set()

    def alive(self) -> None:
        self.living = True
        self._changed.set()

    def changed(self) -> None:
        self._changed.set()

    async def until(self, holds: Callable[[], bool], promise: str) -> None:
        """Wait until a condition holds; raises AssertionError with the promise if it does not."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(promise) from None
