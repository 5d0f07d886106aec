"""The stores of the contract tests, and a whole gateway, asked over HTTP."""

from __future__ import annotations

from tests.server.conftest import owner, served
from tests.store.conftest import home, homes, new_home, postgres, postgres_url

__all__ = ["home", "homes", "new_home", "owner", "postgres", "postgres_url", "served"]
