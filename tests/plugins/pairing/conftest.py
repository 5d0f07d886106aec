"""A gateway over fakes with pairing, and the stores of the contract tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nanobot.testing.gateway import FakeGateway, gateway
from tests.plugins.pairing.paired import PAIRED
from tests.store.conftest import home, homes, new_home, postgres, postgres_url

__all__ = ["home", "homes", "new_home", "postgres", "postgres_url"]


@pytest.fixture
async def bot() -> AsyncIterator[FakeGateway]:
    """Its model echoes."""
    async with gateway(options=PAIRED) as opened:
        yield opened
