"""The host of one channel: supervises intake, delivers what is owed, shows that work is done."""

from __future__ import annotations

import asyncio
import random

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.bus.events import Address, EventKind
from nanobot.delivery import Delivery
from nanobot.errors import BadCredentials, ChannelDown, ChannelError
from nanobot.intake import ChannelIntake
from nanobot.ports import Channel, Clock

TYPING_AFTER = 1.0
"""Seconds until typing is shown: an answer that comes at once should cost no call for it."""
TYPING_EVERY = 4.0
"""Platforms clear the sign by themselves after about five seconds."""

_FIRST_BACKOFF = 1.0
_LAST_BACKOFF = 60.0


class ChannelHost:
    """One channel, supervised on its own: its failure is nobody else's.

    `state` is starting, up, down (tried again) or failed (its credentials are refused).
    """

    def __init__(
        self, name: str, channel: Channel, bus: Bus, clock: Clock, rng: random.Random
    ) -> None:
        self.name = name
        self.state = "starting"
        self.settled = asyncio.Event()
        self._channel = channel
        self._bus = bus
        self._clock = clock
        self._rng = rng
        self._delivery = Delivery(name, channel, bus, clock, rng)
        self._working: dict[str, tuple[Address, float]] = {}
        self._some_work = asyncio.Event()
        self._receiving: asyncio.Task[None] | None = None

    def alive(self) -> None:
        """The platform answered."""
        if self.state != "up":
            self._settle("up")

    def _settle(self, state: str) -> None:
        self.state = state
        self.settled.set()

    async def run(self, intake: ChannelIntake) -> None:
        """Receive, deliver and show typing until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            name = self.name
            tasks.create_task(self._delivery.run(), name=f"{name}: delivery")
            self._receiving = tasks.create_task(self._receive(intake), name=f"{name}: intake")
            if self._channel.capabilities.typing:
                tasks.create_task(self._notice_work(), name=f"{name}: work")
                tasks.create_task(self._show_typing(), name=f"{name}: typing")

    def stop_intake(self) -> None:
        """Take nothing more from the platform; delivery goes on."""
        if self._receiving is not None:
            self._receiving.cancel()

    async def flush(self, seconds: float) -> None:
        """Wait until nothing is being sent, at most `seconds`."""
        await self._delivery.flush(seconds)

    async def close(self) -> None:
        """Let go of the platform."""
        with boundary(f"closing {self.name}"):
            await self._channel.close()

    async def _receive(self, intake: ChannelIntake) -> None:
        failures = 0
        while True:
            began = self._clock.monotonic()
            error: Exception | None = None
            with boundary(f"channel {self.name}") as caught:
                try:
                    await self._channel.run(intake)
                except ChannelError as refused:
                    error = refused
            error = error or caught.error
            if isinstance(error, BadCredentials):
                logger.error("{} is off: {}", self.name, error)
                self._settle("failed")
                return
            failures = 0 if self._clock.monotonic() - began > _LAST_BACKOFF else failures
            told = error.retry_after if isinstance(error, ChannelDown) else None
            delay = told or min(_FIRST_BACKOFF * 2.0**failures, _LAST_BACKOFF)
            failures += 1
            logger.warning("{} is down ({}), again in {:.1f} s", self.name, error, delay)
            self._settle("down")
            await self._clock.sleep(delay * self._rng.uniform(0.8, 1.2))

    async def _notice_work(self) -> None:
        kinds = frozenset({EventKind.STATUS, EventKind.END})
        watching = self._bus.subscribe(None, kinds)
        try:
            async for event in watching:
                if event.kind is EventKind.END:
                    self._working.pop(event.run_id, None)
                elif event.payload.get("state") == "running":
                    address = msgspec.convert(event.payload["address"], Address)
                    if address.channel == self.name:
                        due = self._clock.monotonic() + TYPING_AFTER
                        self._working[event.run_id] = (address, due)
                        self._some_work.set()
        finally:
            self._bus.unsubscribe(watching)

    async def _show_typing(self) -> None:
        while True:
            if not self._working:
                self._some_work.clear()
                await self._some_work.wait()
            await self._clock.sleep(TYPING_AFTER)
            now = self._clock.monotonic()
            for run_id, (address, due) in list(self._working.items()):
                if due <= now:
                    self._working[run_id] = (address, now + TYPING_EVERY)
                    with boundary(f"typing in {address}"):
                        await self._typing(address)

    async def _typing(self, address: Address) -> None:
        try:
            async with asyncio.timeout(5):
                await self._channel.typing(address)
        except (ChannelError, TimeoutError) as error:
            logger.debug("{}: typing could not be shown: {}", address, error)
