"""The operation on servers of the Model Context Protocol."""

from __future__ import annotations

from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.tools.mcp.views import ServerView


@operation("mcp list", reads=True, empty="`nanobot mcp add` connects a server.")
async def list_servers(context: OperationContext, _: Caller) -> list[ServerView]:
    """Lists the MCP servers and how they are."""
    return context.engine.mcp.views()
