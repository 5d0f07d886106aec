"""The stores of the contract tests, for memory too."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.memory.index import Memory
from tests.memory.remembering import memory
from tests.store.conftest import home, homes, new_home, postgres, postgres_url
from tests.store.home import Home

__all__ = ["home", "homes", "new_home", "postgres", "postgres_url"]


@pytest.fixture
def mem(home: Home, tmp_path: Path) -> Memory:
    """As a process that starts has it."""
    return memory(home, tmp_path)
