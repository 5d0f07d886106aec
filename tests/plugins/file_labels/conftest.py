"""The stores of the contract tests."""

from tests.store.conftest import home, homes, new_home, postgres, postgres_url

__all__ = ["home", "homes", "new_home", "postgres", "postgres_url"]
