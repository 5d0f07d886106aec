"""What tests of runs begin with."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nanobot.testing.gateway import FakeGateway, gateway
from nanobot.testing.model import Held
from tests.agent.tooling import Recorder
from tests.plugins.triage.doubles import FakeStarter


@pytest.fixture
async def bot() -> AsyncIterator[FakeGateway]:
    """A gateway over fakes, whose model echoes."""
    async with gateway() as opened:
        yield opened


@pytest.fixture
def held() -> Held:
    """An answer that waits."""
    return Held()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()
