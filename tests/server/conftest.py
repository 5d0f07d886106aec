"""A whole gateway, asked over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.housing import Client, House, house


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
async def owner(served: House) -> Client:
    """A program with the gateway's own token."""
    return await served.owner()
