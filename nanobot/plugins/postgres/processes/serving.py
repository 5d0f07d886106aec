"""How a channel is served by several processes over one store: one of them receives. If the channel
is `shared`, each sends to some of its chats; otherwise, only the one that receives does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from loguru import logger

from nanobot.bus.core import Bus
from nanobot.channels.chat_leases import Served
from nanobot.plugins.postgres.processes import left_work
from nanobot.plugins.postgres.processes.channel_lease import ChannelLease
from nanobot.ports import Channel, Clock, Fetching, Receiving
from nanobot.supervision import Work, begin_all


class Helping(Protocol):
    """What has to know whether another process receives."""

    helping: bool


class LeasedChannel:
    """One channel, and the right to receive for it."""

    def __init__(
        self, name: str, channel: Channel, bus: Bus, turn: ChannelLease, clock: Clock
    ) -> None:
        self._name, self._bus, self._turn, self._clock = name, bus, turn, clock
        self._shares = channel.capabilities.shared
        self._fetches = isinstance(channel, Fetching) and isinstance(channel, Receiving)

    async def serve(self, channel: Served, chats: Helping) -> None:
        """Serve it as far as this process does, until cancelled."""
        if not self._shares:
            await self._in_turn(channel, chats, partial(self._work, channel))
            return
        async with asyncio.TaskGroup() as tasks:
            chats.helping = True
            works: dict[str, Work] = {
                f"{self._name}: speaking": partial(self._work, channel, receives=False)
            }
            begin_all(tasks, works, self._clock)
            await self._in_turn(channel, chats, partial(self._work, channel, speaks=False))

    async def _in_turn(
        self, channel: Served, chats: Helping, serve: Callable[[], Awaitable[None]]
    ) -> None:
        """Serve while this process has the channel's lease, and wait for it in between."""
        while True:
            chats.helping = self._shares
            if not await self._turn.take():
                channel.standby()
                logger.info("{}: another process serves it; waiting", self._name)
                await self._turn.wait()
            chats.helping = False
            await self._turn.holding(serve)

    async def _work(self, channel: Served, *, speaks: bool = True, receives: bool = True) -> None:
        """The work of the channel, and what other processes leave for it."""
        left: dict[str, Work] = {}
        if speaks:
            left["outbox of other processes"] = partial(
                left_work.outbox, self._name, self._bus, self._clock
            )
        if receives and self._fetches:
            left["files of other processes"] = partial(
                left_work.files, self._name, self._bus, self._clock
            )
        async with asyncio.TaskGroup() as tasks:
            begin_all(tasks, {f"{self._name}: {n}": work for n, work in left.items()}, self._clock)
            await channel.work(speaks=speaks, receives=receives)
