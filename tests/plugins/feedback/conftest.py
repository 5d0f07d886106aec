"""A gateway over fakes whose people can rate answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nanobot.testing.gateway import FakeGateway, gateway
from tests.plugins.feedback.rating import RATING


@pytest.fixture
async def bot() -> AsyncIterator[FakeGateway]:
    """Its model echoes."""
    async with gateway(options=RATING) as opened:
        yield opened
