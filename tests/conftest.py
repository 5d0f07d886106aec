"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from loguru import logger


@pytest.fixture(autouse=True)
def _log_ends_with_its_test() -> Iterator[None]:
    """Commands run within a test log to its captured stream, which is closed when it ends: whoever
    logs there afterwards gets a trace for every line, and takes a hundred times as long."""
    yield
    logger.remove()
