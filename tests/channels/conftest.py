"""A Telegram on loopback and a channel connected to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from nanobot.testing.machine import ManualClock
from nanobot_channels.telegram import TelegramChannel
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.telegram_server import TelegramServer

Running = Callable[[FakeIntake], AbstractAsyncContextManager[None]]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def channel(telegram: TelegramServer, clock: ManualClock) -> AsyncIterator[TelegramChannel]:
    made = TelegramChannel("telegram", telegram.token, telegram.root_url, clock=clock)
    yield made
    await made.close()


@pytest.fixture
def running(channel: TelegramChannel) -> Running:
    """A context in which the channel receives, and after which it does not."""

    @asynccontextmanager
    async def receive(intake: FakeIntake) -> AsyncIterator[None]:
        task = asyncio.create_task(channel.run(intake))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    return receive
