"""A home with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.cli.talking import Home
from tests.doubles.openai_server import OpenAIServer
from tests.process.harness import World, open_world
from tests.process.nest import Nest


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with OpenAIServer() as model:
        yield Home(tmp_path, model)


@pytest.fixture(scope="session")
def nest() -> Iterator[Nest]:
    made = Nest()
    yield made
    made.close()


@pytest.fixture
async def world(tmp_path: Path, nest: Nest) -> AsyncIterator[World]:
    async with open_world(tmp_path, nest) as made:
        yield made
