"""Messages of a platform with a history, where nothing looks up missed ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from loguru import logger

from nanobot.messages import Address, InboundMessage
from nanobot.ports import History, Intake


class LiveOnly:
    """See ports.CatchUp. Live messages are committed as they come. The stored cursor stays, so that
    missed ones are looked up from there when the plugins are back."""

    def __init__(self, intake: Intake, history: History) -> None:
        self.kept = 0
        self.settled = True
        self._intake = intake
        self._history = history

    async def begin(self) -> bool:
        text = await self._intake.cursor()
        positions = self._history.positions(text) if text else None
        if positions is not None:
            self.kept, _ = positions
            return True
        self.kept = now = await self._history.now()
        await self._intake.admit([], self._history.cursor(now, now))
        return False

    async def look_back(self, places: Iterable[Address]) -> None:
        logger.warning("missed messages wait: what looks them up belongs to the built-in plugins")

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def take(
        self, message: InboundMessage, at: int = 0, done: Callable[[], None] = lambda: None
    ) -> None:
        await self.admit(message)
        done()

    async def admit(self, message: InboundMessage, at: int = 0) -> None:
        await self._intake.admit([message])

    def passed(self, at: int) -> None:
        """The cursor stays."""
