"""The servers of a gateway, as configured."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from nanobot.config.loader import Config
from nanobot.plugins.common.policy.rules import STEERING
from nanobot.plugins.common.walls import Walls
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.mcp.views import Servers
from nanobot.ports import Clock
from nanobot.seam.offers import Environment
from nanobot.store.opening import Store
from nanobot.tools.base import AnyTool
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.blobs import Blobs

if TYPE_CHECKING:
    from nanobot.plugins.mcp.place import ServerPlace


def servers(  # noqa: PLR0913 - each is a part of its own
    settings: Mapping[str, McpSettings],
    config: Config,
    registry: ToolRegistry,
    walls: Walls,
    store: Store,
    blobs: Blobs,
    clock: Clock,
    environ: Environment,
) -> Mapping[Any, object]:
    """The servers; what supervises them is loaded only if there are any."""
    if not settings:
        return {Servers: Servers()}
    from nanobot.plugins.mcp.servers import McpServers  # noqa: PLC0415 - see above
    from nanobot.plugins.mcp.store import SqlPins  # noqa: PLC0415

    place = place_of(config, walls)
    pins = SqlPins(store.database, store.writer)
    return {Servers: McpServers(settings, registry, clock, environ, place, blobs, pins)}


def place_of(config: Config, walls: Walls) -> ServerPlace:
    """Where their programs run."""
    from nanobot.plugins.mcp.place import ServerPlace  # noqa: PLC0415 - where there is a server

    return ServerPlace(config.home / "mcp", config.workspace, walls, STEERING)


def tools(servers: Servers) -> list[AnyTool]:
    """The tools that find, call and read what servers offer."""
    return servers.tools()


def start(servers: Servers) -> AbstractAsyncContextManager[None]:
    """Keep the servers connected."""
    return servers.serving()
