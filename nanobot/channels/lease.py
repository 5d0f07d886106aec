"""The lease of a channel: of several processes over one store, one serves it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from loguru import logger

from nanobot.errors import StoreError
from nanobot.ports import Clock
from nanobot.session.lease import CHANNEL

_LOOK_SECONDS = 2.0


class Leases(Protocol):
    """The part of the Journal that knows who serves what."""

    async def hold_channel(self, channel: str, *, shares: bool = False) -> bool:
        """See Journal."""
        ...

    async def leave_channel(self, channel: str) -> None:
        """See Journal."""
        ...


class ChannelLease:
    """The right to serve one channel: waited for, kept, and given back. `shares`: who has it lets
    other processes speak to the chats."""

    def __init__(self, channel: str, leases: Leases, clock: Clock, *, shares: bool = False) -> None:
        self._shares = shares
        self._channel = channel
        self._leases = leases
        self._clock = clock

    async def take(self) -> bool:
        """Whether the channel is ours now; False while another process has it, and while the store
        cannot tell."""
        with suppress(StoreError):
            return await self._leases.hold_channel(self._channel, shares=self._shares)
        return False

    async def wait(self) -> None:
        """Return once the channel is ours."""
        while not await self.take():
            await self._clock.sleep(_LOOK_SECONDS)

    async def keep(self) -> None:
        """Renew it; returns once it is lost."""
        renewed = self._clock.monotonic()
        while self._clock.monotonic() - renewed < CHANNEL.give_up:
            await self._clock.sleep(CHANNEL.renew)
            began = self._clock.monotonic()
            try:
                if not await self._leases.hold_channel(self._channel, shares=self._shares):
                    break
                renewed = began
            except StoreError as error:
                logger.warning("{}: its lease cannot be renewed: {}", self._channel, error)
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
        with suppress(StoreError):
            await self._leases.leave_channel(self._channel)
