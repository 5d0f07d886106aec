"""A home with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.talking import Home
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.terminal import Terminal
from tests.process.harness import World, open_world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with OpenAIServer() as model:
        yield Home(tmp_path, model)


@pytest.fixture
async def terminal(home: Home) -> AsyncIterator[Terminal]:
    """`nanobot agent` in a terminal, greeted."""
    async with home.terminal() as shown:
        yield shown


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened
