"""A scripted server, a clock and a client between them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.retrying import CallPolicy
from nanobot.retries import Backoff
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import OpenAIServer
from tests.providers.asking import KEY


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as running:
        yield running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def provider(server: OpenAIServer, clock: ManualClock) -> AsyncIterator[OpenAICompatProvider]:
    opened = OpenAICompatProvider(
        "acme", server.base_url, KEY, clock=clock, policy=CallPolicy(backoff=Backoff(0.5, 16.0))
    )
    yield opened
    await opened.close()
