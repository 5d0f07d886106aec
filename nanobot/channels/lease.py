"""The lease of a channel: of several processes over one store, one serves it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from loguru import logger

from nanobot.errors import StoreError
from nanobot.ports import Clock
from nanobot.session.lease import CHANNEL
from nanobot.store.beats import Beats


class ChannelLease:
    """The right to serve one channel: waited for, kept, and given back. `shares`: who has it lets
    other processes speak to the chats."""

    def __init__(self, channel: str, beats: Beats, clock: Clock, *, shares: bool = False) -> None:
        self._shares = shares
        self._channel = channel
        self._beats = beats
        self._clock = clock

    async def take(self) -> bool:
        """Whether the channel is ours now; False while another process has it, and while the store
        cannot tell."""
        with suppress(StoreError):
            return await self._beats.leases.hold_channel(self._channel, shares=self._shares)
        return False

    async def wait(self) -> None:
        """Return once the channel is ours."""
        while not await self.take():
            await self._over()

    async def _over(self) -> None:
        """Return once nobody has it, as far as a beat shows."""
        number = self._beats.last.number
        while True:
            number, _, found = await self._beats.after(number)
            if found is not None:
                held = found.others.get(self._channel)
                if held is None or held.left <= 0:
                    return

    async def keep(self) -> None:
        """Return once it is lost; each beat renews it."""
        since, number = self._clock.monotonic(), self._beats.last.number
        renewed = since
        while self._clock.monotonic() - renewed < CHANNEL.give_up:
            number, began, found = await self._beats.after(number)
            if found is None or began < since:  # what was under way may not have seen it
                continue
            if not found.alone and self._channel not in found.ours:
                break
            renewed = began
        logger.error("{}: another process may serve it now", self._channel)

    async def holding(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do that for as long as the lease is ours, which it is now; then give it back."""

        async def doing() -> None:
            await work()

        try:
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(doing(), name=f"{self._channel}: serving")
                await self.keep()
                task.cancel()
        finally:
            await self.give_back()

    async def give_back(self) -> None:
        """Nobody has to wait until it runs out."""
        await self._beats.leave(self._channel)
