"""Operations on servers of the Model Context Protocol."""

from __future__ import annotations

from nanobot.operations.operation import Caller, Nothing, Operation, OperationContext
from nanobot.tools.mcp.views import ServerView


async def _servers(operations: OperationContext, _: Caller, __: Nothing) -> list[ServerView]:
    return operations.engine.mcp.views()


MCP: tuple[Operation, ...] = (
    Operation(
        name="mcp list",
        help="lists the MCP servers and how they are",
        run=_servers,
        returns=list[ServerView],
    ),
)
