"""A Telegram on loopback and a channel connected to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from nanobot.testing.machine import ManualClock
from nanobot.testing.platform import FakePlatform
from nanobot_channels.telegram import TelegramChannel
from tests.agent.conftest import bot, held
from tests.doubles.discord_server import DiscordServer
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.mail_server import MailServer
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.slack_bench import Bench, bench
from tests.doubles.telegram_server import TelegramServer

__all__ = ["bot", "held"]

Running = Callable[..., AbstractAsyncContextManager[FakeIntake]]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server


@pytest.fixture
async def matrix() -> AsyncIterator[MatrixServer]:
    async with MatrixServer() as server:
        yield server


@pytest.fixture
async def mail() -> AsyncIterator[MailServer]:
    async with MailServer() as server:
        yield server


@pytest.fixture
async def b() -> AsyncIterator[Bench]:
    """A Slack and a channel, not receiving yet."""
    async with bench() as opened:
        yield opened


@pytest.fixture
async def receiver(b: Bench) -> AsyncIterator[Bench]:
    """A Slack and a channel that receives."""
    async with b.running():
        yield b


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
def platform() -> FakePlatform:
    return FakePlatform()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def channel(telegram: TelegramServer, clock: ManualClock) -> AsyncIterator[TelegramChannel]:
    channel = TelegramChannel("telegram", telegram.token, telegram.root_url, clock=clock)
    yield channel
    await channel.close()


@pytest.fixture
def running(channel: TelegramChannel) -> Running:
    """A context in which the channel receives, and after which it does not."""

    @asynccontextmanager
    async def receive(intake: FakeIntake | None = None) -> AsyncIterator[FakeIntake]:
        intake = intake or FakeIntake()
        task = asyncio.create_task(channel.run(intake))
        try:
            yield intake
        finally:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    return receive
