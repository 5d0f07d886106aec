"""The stores of the contract tests, for memory too."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.plugins.memory.index import Memory
from tests.agent.conftest import bot, held, recorder
from tests.plugins.memory import remembering
from tests.plugins.memory.doubles import FakeMemory
from tests.providers.conftest import server
from tests.store.conftest import home, homes, new_home, postgres, postgres_url
from tests.store.home import Home

__all__ = [
    "bot",
    "held",
    "home",
    "homes",
    "new_home",
    "postgres",
    "postgres_url",
    "recorder",
    "server",
]


@pytest.fixture
def mem(home: Home, tmp_path: Path) -> Memory:
    """As a process that starts has it."""
    return remembering.memory(home, tmp_path)


@pytest.fixture
def memory() -> FakeMemory:
    return FakeMemory()
