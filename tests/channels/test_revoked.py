"""A token that is revoked while its channel runs: the channel ends with an error that names the
remedy, at the latest with the next send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import pytest

from nanobot.errors import BadCredentials, DeliveryError, NotSent
from nanobot.messages import Address
from nanobot.ports import Channel, OutboundPart
from tests.channels.test_contract import Matrix, Mattermost, Slack, Telegram
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.mattermost_server import MattermostServer
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_server import TelegramServer

Opened: TypeAlias = AbstractAsyncContextManager[tuple[Channel, str, Callable[[], None], str]]
"""A channel, a chat of it, what revokes the token, and the key of the remedy."""


@asynccontextmanager
async def telegram() -> AsyncIterator[tuple[Channel, str, Callable[[], None], str]]:
    async with TelegramServer() as server:

        def revoke() -> None:
            server.token = "7:another"

        yield Telegram(server).channel(), "1", revoke, "token"


@asynccontextmanager
async def slack() -> AsyncIterator[tuple[Channel, str, Callable[[], None], str]]:
    """The app's own token keeps the connection for events."""
    async with SlackServer() as server:

        def revoke() -> None:
            server.bot_token = "xoxb-another"

        yield Slack(server).channel(), "D1", revoke, "bot_token"


@asynccontextmanager
async def matrix() -> AsyncIterator[tuple[Channel, str, Callable[[], None], str]]:
    async with MatrixServer() as server:
        yield Matrix(server).channel(), server.dm, server.sessions.clear, "access_token"


@asynccontextmanager
async def mattermost() -> AsyncIterator[tuple[Channel, str, Callable[[], None], str]]:
    async with MattermostServer() as server:

        def revoke() -> None:
            server.token = "another" + "a" * 19

        yield Mattermost(server).channel(), server.dm, revoke, "token"


PLATFORMS: tuple[Callable[[], Opened], ...] = (telegram, slack, matrix, mattermost)


@pytest.mark.parametrize("opened", PLATFORMS, ids=lambda opened: opened.__name__)
async def test_a_revoked_token_ends_the_channel_and_the_error_names_the_remedy(
    opened: Callable[[], Opened],
) -> None:
    intake = FakeIntake()
    async with opened() as (channel, chat, revoke, key):
        running = asyncio.create_task(channel.run(intake))
        try:
            await intake.until(lambda: intake.signs_of_life > 0)
            revoke()
            part = OutboundPart(text="hello", key="k:0")
            with pytest.raises(NotSent):
                await channel.send(Address("checked", chat), part)
            async with asyncio.timeout(20):
                await asyncio.wait([running])
            with pytest.raises(BadCredentials, match=rf"channels\.checked\.{key}\b"):
                running.result()
        finally:
            running.cancel()
            await asyncio.wait([running])
            await channel.close()


async def test_a_refused_right_ends_nothing(intake: FakeIntake) -> None:
    """A scope that the app lacks: everything else works."""
    async with SlackServer() as server:
        channel = Slack(server).channel()
        running = asyncio.create_task(channel.run(intake))
        try:
            await intake.until(lambda: intake.signs_of_life > 0)
            server.fail("chat.postMessage", error="missing_scope", needed="chat:write", times=1)
            address, part = Address("checked", "D1"), OutboundPart(text="hello", key="k:0")
            with pytest.raises(DeliveryError):
                await channel.send(address, part)
            assert await channel.send(address, part)
            server.say("D1", "still here")
            await intake.received(1)
        finally:
            running.cancel()
            await asyncio.wait([running])
            await channel.close()
