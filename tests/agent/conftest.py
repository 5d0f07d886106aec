"""What tests of runs begin with."""

from __future__ import annotations

import pytest

from tests.agent.stages.doubles import FakeMemory, FakeStarter
from tests.agent.tooling import Recorder


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def memory() -> FakeMemory:
    return FakeMemory()


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()
