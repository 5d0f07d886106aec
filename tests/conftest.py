"""What holds for every test."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings
from loguru import logger

# The quick tests look at the same examples in every run, so that they fail for a change and not by
# chance; `make prove` draws new ones (--hypothesis-profile=searching).
settings.register_profile("steady", derandomize=True)
settings.register_profile("searching", print_blob=True)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def _log_ends_with_its_test() -> Iterator[None]:
    """Commands run within a test log to its captured stream, which is closed when it ends: whoever
    logs there afterwards gets a trace for every line, and takes a hundred times as long."""
    yield
    logger.remove()


def pytest_collection_finish() -> None:
    """What is loaded by now stays: without this, each full collection walks 7,000 tests again."""
    gc.collect()
    gc.freeze()
