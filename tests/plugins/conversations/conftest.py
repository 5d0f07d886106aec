"""A gateway over fakes, and the stores of the contract tests."""

from __future__ import annotations

from tests.agent.conftest import bot
from tests.store.conftest import home, homes, new_home, postgres, postgres_url

__all__ = ["bot", "home", "homes", "new_home", "postgres", "postgres_url"]
