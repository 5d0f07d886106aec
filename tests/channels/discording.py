"""A channel connected to the double of Discord, for the tests beside this."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nanobot.messages import Address
from nanobot.ports import Channel
from nanobot.testing.machine import ManualClock
from nanobot_channels.discord import DiscordChannel, Server
from nanobot_channels.discord.receiving import Limits
from tests.doubles import discord_server
from tests.doubles.discord_server import DiscordServer
from tests.doubles.fake_intake import FakeIntake

DM = Address("discord", discord_server.DM)
GENERAL = Address("discord", discord_server.CHANNEL)
IN_THREAD = Address("discord", discord_server.CHANNEL, discord_server.THREAD)


@asynccontextmanager
async def opened(
    server: DiscordServer,
    clock: ManualClock | None = None,
    limits: Limits | None = None,
    *,
    link_previews: bool = False,
) -> AsyncIterator[DiscordChannel]:
    """The channel of that server's bot."""
    where = Server(api_root=server.api_root, link_previews=link_previews)
    channel = DiscordChannel("discord", server.token, where, limits, clock=clock or ManualClock())
    try:
        yield channel
    finally:
        await channel.close()


@asynccontextmanager
async def receiving(
    channel: Channel, intake: FakeIntake | None = None
) -> AsyncIterator[FakeIntake]:
    """The channel receives, once it is up; after it, it does not."""
    intake = intake or FakeIntake()
    task = asyncio.create_task(channel.run(intake))
    try:
        await intake.until(lambda: intake.signs_of_life > 0 or task.done())
        yield intake
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()
