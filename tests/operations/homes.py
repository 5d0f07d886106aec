"""A home with a configuration, and the operations of its gateway at rest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest
from tests.store.empty import with_empty_store

WRITTEN = """\
# Mine.
[agent]
model = "embedded"
fallback_models = ["groq/llama"]

[providers.groq]
api_key = "gsk-secret-key"

[providers.groq.models."llama"]
tools = true

[channels.telegram]
enabled = false
token = "1:abc"
owners = ["1001"]

[mcp.files]
command = "true"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "config.toml").write_text(WRITTEN)
    with_empty_store(tmp_path)
    return {"NANOBOT_HOME": str(tmp_path), "NANOBOT_DRAIN_SECONDS": "7", "PATH": "/usr/bin:/bin"}


@pytest_asyncio.fixture
async def operations(environ: dict[str, str]) -> AsyncIterator[Dispatcher]:
    gateway = Gateway(load(environ), environ, channels=False)
    async with operations_at_rest(gateway, "test") as dispatcher:
        yield dispatcher


def file_of(environ: dict[str, str]) -> str:
    return Path(environ["NANOBOT_HOME"], "config.toml").read_text()


def secrets_of(environ: dict[str, str]) -> dict[str, tuple[str, int]]:
    """The secrets in files: what each holds, and who may read it."""
    files = sorted(Path(environ["NANOBOT_HOME"]).glob("secrets/*"))
    return {file.name: (file.read_text(), file.stat().st_mode & 0o777) for file in files}
