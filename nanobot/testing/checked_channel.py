"""A channel while it is checked: its platform's side, opened, and receiving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from nanobot.errors import NanobotError
from nanobot.messages import Address
from nanobot.ports import Channel, OutboundPart
from nanobot.testing.intake import RecordingIntake


class Platform(Protocol):
    """The platform's side: somebody who writes in a chat of their own, and what they see there."""

    def channel(self) -> Channel:
        """A new channel called "checked", connected to this platform."""
        ...

    async def say(self, text: str) -> None:
        """They write. It may last until the intake has taken or refused it, and raises nothing."""
        ...

    async def again(self) -> None:
        """What was not acknowledged is delivered again; nothing to do where that comes by itself
        once the channel runs again."""
        ...

    async def disturb(self) -> None:
        """Things arrive that the channel does not know or cannot read."""
        ...

    def acknowledged(self) -> int | None:
        """How many messages the platform was told to have arrived; None if it is never told."""
        ...

    def shown(self) -> Sequence[str]:
        """The texts of the channel's messages in that chat, in order."""
        ...

    def fits(self, part: OutboundPart) -> bool:
        """Whether the part is within the platform's limits."""
        ...

    def refuse(self, chat: Address) -> Address:
        """From now on sends fail: where one does."""
        ...


class Receiving:
    """How a run stands. `failed`: what it ended with."""

    def __init__(self) -> None:
        self.over = False
        self.failed: NanobotError | None = None

    async def run(self, channel: Channel, intake: RecordingIntake) -> None:
        """Receive, and write down how it ends."""
        try:
            await channel.run(intake)
        except NanobotError as error:
            self.failed = error
        finally:
            self.over = True
            intake.changed()


@asynccontextmanager
async def opened(platform: Platform) -> AsyncIterator[Channel]:
    """A channel of that platform, closed afterwards."""
    channel = platform.channel()
    try:
        yield channel
    finally:
        await channel.close()


@asynccontextmanager
async def running(
    platform: Platform, channel: Channel, intake: RecordingIntake, *texts: str
) -> AsyncIterator[Receiving]:
    """A channel that receives within, while somebody says something."""
    receiving = Receiving()
    try:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(receiving.run(channel, intake), name="run")
            await intake.until(
                lambda: intake.living or receiving.over, "run says that the platform answered"
            )
            for text in texts:
                tasks.create_task(platform.say(text), name="say")
            yield receiving
            task.cancel()
    except ExceptionGroup as several:
        broken = several.subgroup(AssertionError)
        raise (several if broken is None else broken.exceptions[0]) from None
