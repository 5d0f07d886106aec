"""The stores of the contract tests, and no troubles of earlier ones."""

from __future__ import annotations

import pytest

from nanobot.troubles import TROUBLES
from tests.store.conftest import home, homes, postgres, postgres_url

__all__ = ["home", "homes", "postgres", "postgres_url"]


@pytest.fixture(autouse=True)
def _none_before() -> None:
    for trouble in TROUBLES.recent():
        TROUBLES.over(trouble.what)
