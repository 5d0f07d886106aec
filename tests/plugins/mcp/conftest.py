from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.messages import Address, Role
from nanobot.plugins.common.files.memory_blobs import MemoryBlobs
from nanobot.plugins.mcp.pins import MemoryPins
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.servers import McpServers
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.mcp.views import ServerView
from nanobot.ports import Clock
from nanobot.system import SystemClock
from nanobot.tools.base import CallContext
from nanobot.tools.registry import ToolRegistry
from tests.server.conftest import owner, served

__all__ = ["owner", "served"]

ROOT = str(Path(__file__).resolve().parents[3])


def context(role: Role = Role.OWNER) -> CallContext:
    return CallContext(
        run_id="r",
        session_key="cli:direct",
        address=Address("cli", "direct"),
        sender_id="local",
        role=role,
        key="r:1:0",
    )


def program(folder: Path, **more: object) -> McpSettings:
    """The double as a program."""
    settings = {
        "command": sys.executable,
        "args": ("-m", "tests.doubles.mcp_server", str(folder)),
        "env": {"PYTHONPATH": ROOT},
        "timeout": 20.0,
    }
    return McpSettings(**{**settings, **more})  # type: ignore[arg-type]


def plain(folder: Path, **more: object) -> McpSettings:
    """The double that is written by hand, which starts at once."""
    return program(folder, args=("-m", "tests.doubles.mcp_plain", str(folder)), **more)


def script(text: str, *, timeout: float = 20.0) -> McpSettings:
    """A program that speaks as it likes."""
    return McpSettings(command=sys.executable, args=("-c", text), timeout=timeout)


class Hasty(SystemClock):
    """Waits a twentieth of what is asked for, where nothing depends on how long."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 20)


class Bench:
    """Servers at work over a registry of their own."""

    def __init__(self, servers: McpServers, registry: ToolRegistry, folder: Path) -> None:
        self.folder = folder
        self.servers = servers
        self.registry = registry

    async def call(self, name: str, arguments: str = "{}", role: Role = Role.OWNER) -> str:
        return await self.registry.execute(name, arguments, context(role))

    @property
    def names(self) -> list[str]:
        return [spec.name for spec in self.registry.specs()]

    def view(self, name: str = "it") -> ServerView:
        return next(view for view in self.servers.views() if view.name == name)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds():  # noqa: ASYNC110 - nothing tells a test of it
                await asyncio.sleep(0.02)


@asynccontextmanager
async def working(
    folder: Path,
    wait: Sequence[str] = ("connected",),
    clock: Clock | None = None,
    pins: MemoryPins | None = None,
    **servers: McpSettings,
) -> AsyncIterator[Bench]:
    """Servers, each in one of the states that are waited for."""
    registry = ToolRegistry()
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OPENAI_API_KEY": "sk-not-for-you"}
    place = ServerPlace(folder / "servers", folder / "workspace")
    blobs = MemoryBlobs()
    pins = pins or MemoryPins(everything=True)
    manager = McpServers(servers, registry, clock or SystemClock(), environ, place, blobs, pins)
    for tool in manager.tools():
        registry.register(tool)
    bench = Bench(manager, registry, folder)
    async with manager.serving():
        await bench.until(lambda: all(view.state in wait for view in manager.views()))
        yield bench


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
