"""A home with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.talking import Home
from tests.doubles.openai_server import OpenAIServer


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with OpenAIServer() as model:
        yield Home(tmp_path, model)
