"""The lease of a channel: among processes over one store, its holder serves the channel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from loguru import logger

from nanobot.errors import StoreError
from nanobot.plugins.postgres.store.beats import Beats
from nanobot.plugins.postgres.store.lease_terms import CHANNEL
from nanobot.ports import Clock


class ChannelLease:
    """The right to serve one channel. `shares`: the holder lets other processes send to the
    channel's chats."""

    def __init__(self, channel: str, beats: Beats, clock: Clock, *, shares: bool = False) -> None:
        self._shares = shares
        self._channel = channel
        self._beats = beats
        self._clock = clock

    async def take(self) -> bool:
        """Whether this process has the lease now; False if another one has it or the
        store fails."""
        with suppress(StoreError):
            return await self._beats.leases.hold_channel(self._channel, shares=self._shares)
        return False

    async def wait(self) -> None:
        """Return when this process has the lease."""
        while not await self.take():
            await self._over()

    async def _over(self) -> None:
        """Return when a beat shows that no process has it."""
        number = self._beats.last.number
        while True:
            number, _, found = await self._beats.after(number)
            if found is not None:
                held = found.others.get(self._channel)
                if held is None or held.left <= 0:
                    return

    async def keep(self) -> None:
        """Renew it with each beat; return when it is lost."""
        since, number = self._clock.monotonic(), self._beats.last.number
        renewed = since
        while self._clock.monotonic() - renewed < CHANNEL.give_up:
            number, began, found = await self._beats.after(number)
            if found is None or began < since:  # a query in progress may not have seen it
                continue
            if not found.alone and self._channel not in found.ours:
                break
            renewed = began
        logger.error("{}: another process may serve it now", self._channel)

    async def holding(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work while this process keeps the lease, which it has now; then release it."""

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
        """Release it, so that no process has to wait for its expiry."""
        await self._beats.leave(self._channel)
