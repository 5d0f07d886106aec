"""A gateway at rest, with everything of ours switched on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.config import loader as config
from nanobot.operations.engine import Engine
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """With everything switched on that brings a tool."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("hello")
    (workspace / "c.txt").write_text("old")
    (tmp_path / "config.toml").write_text(
        '[agent]\nrecall = "ask"\n[channels.udp]\nenabled = false\n[mcp.it]\ncommand = "/no/such"'
        "\n[reader]\nenabled = true"
    )
    environ = {"NANOBOT_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    async with operations_at_rest(Gateway(config.load(environ), environ), "test") as operations:
        yield operations.engine
