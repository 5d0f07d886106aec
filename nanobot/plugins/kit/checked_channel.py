"""A channel under test: its platform's side, opened, and receiving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from nanobot.errors import NanobotError
from nanobot.messages import Address
from nanobot.plugins.kit.intake import RecordingIntake
from nanobot.ports import Channel, OutboundPart


class Platform(Protocol):
    """The platform's side: a person who writes in a private chat, and the messages that they see
    there."""

    def channel(self) -> Channel:
        """A new channel called "checked", connected to this platform."""

    async def say(self, text: str) -> None:
        """The person writes. It may wait until the intake has accepted or refused the message, and
        raises nothing.
        """

    async def again(self) -> None:
        """Deliver unacknowledged messages again. Do nothing if that happens automatically once the
        channel runs again.
        """

    async def disturb(self) -> None:
        """Deliver things that the channel does not know or cannot read."""

    def acknowledged(self) -> int | None:
        """The number of messages acknowledged to the platform; None if the channel never
        acknowledges any.
        """

    def shown(self) -> Sequence[str]:
        """The texts of the channel's messages in that chat, in order."""

    def fits(self, part: OutboundPart) -> bool:
        """Whether the part is within the platform's limits."""

    def refuse(self, chat: Address) -> Address:
        """From now on sends fail: if only one does."""


class Receiving:
    """The state of a run. `failed`: the error that ended it."""

    def __init__(self) -> None:
        self.over = False
        self.failed: NanobotError | None = None

    async def run(self, channel: Channel, intake: RecordingIntake) -> None:
        """Receive, and record how it ends."""
        try:
            await channel.run(intake)
        except NanobotError as error:
            self.failed = error
        finally:
            self.over = True
            intake.changed()


@asynccontextmanager
async def opened(platform: Platform) -> AsyncIterator[Channel]:
    """A channel of that platform, closed at the end."""
    channel = platform.channel()
    try:
        yield channel
    finally:
        await channel.close()


@asynccontextmanager
async def running(
    platform: Platform, channel: Channel, intake: RecordingIntake, *texts: str
) -> AsyncIterator[Receiving]:
    """A receiving channel, while the context runs."""
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
