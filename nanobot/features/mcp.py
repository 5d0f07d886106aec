"""Operations on servers of the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanobot.mcp.view import ServerView
from nanobot.operations.operation import Caller, Nothing, Operation

if TYPE_CHECKING:
    from nanobot.operations.desk import Operations


async def _servers(operations: Operations, _: Caller, __: Nothing) -> list[ServerView]:
    return operations.engine.mcp.views()


MCP: tuple[Operation, ...] = (
    Operation(
        name="mcp list",
        help="lists the MCP servers and how they are",
        run=_servers,
        returns=list[ServerView],
    ),
)
