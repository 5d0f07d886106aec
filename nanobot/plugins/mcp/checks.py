"""What `nanobot config check` tells of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.loader import Config
from nanobot.operations.home import Finding
from nanobot.plugins.common.optional import lack
from nanobot.plugins.mcp.settings import McpSettings


def fits(servers: Mapping[str, McpSettings], config: Config) -> list[Finding]:
    """A finding if a server is enabled and the protocol's package is not installed."""
    enabled = [f"mcp.{name}" for name, server in servers.items() if server.enabled]
    return [
        Finding(about="configuration", level="warning", text=f"{config.file}: {key}: {missing}")
        for key in enabled[:1]
        if (missing := lack("mcp"))
    ]
