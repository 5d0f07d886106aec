"""The stores of the contract tests, for PostgreSQL alone too."""

from __future__ import annotations

from tests.store.conftest import claimed, home, homes, journal, new_home, postgres, postgres_url

__all__ = ["claimed", "home", "homes", "journal", "new_home", "postgres", "postgres_url"]
