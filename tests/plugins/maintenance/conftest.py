"""The stores of the contract tests, for backups too."""

from __future__ import annotations

from tests.cli.conftest import world
from tests.store.conftest import postgres, postgres_url

__all__ = ["postgres", "postgres_url", "world"]
