"""The operation on servers of the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.errors import UnknownId
from nanobot.operations.home import ChangedSettings
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.tools.mcp.views import ServerView


@operation("mcp list", reads=True, empty="`nanobot mcp add` connects a server.")
async def list_servers(context: OperationContext, _: Caller) -> list[ServerView]:
    """List the MCP servers and their state."""
    return context.engine.mcp.views()


_Name = Annotated[Positional, Meta(description="Its name in the configuration.")]


async def _switched(
    context: OperationContext, caller: Caller, name: str, *, enabled: bool
) -> ChangedSettings:
    caller.at_this_machine("Switching servers")
    if name not in {view.name for view in context.engine.mcp.views()}:
        raise UnknownId(f"there is no MCP server {name[:60]!r}; `mcp list` lists them")
    return await context.engine.home.change({f"mcp.{name}.enabled": str(enabled).lower()})


def _text(changed: ChangedSettings, _: Now) -> str:
    return f"Saved in {changed.file}. Restart the gateway to apply it (`restart`)."


@operation("mcp enable", text=_text, example="github")
async def enable_server(context: OperationContext, caller: Caller, name: _Name) -> ChangedSettings:
    """Enable an MCP server (after a restart)."""
    return await _switched(context, caller, name, enabled=True)


@operation("mcp disable", text=_text, example="github")
async def disable_server(context: OperationContext, caller: Caller, name: _Name) -> ChangedSettings:
    """Disable an MCP server (after a restart)."""
    return await _switched(context, caller, name, enabled=False)
