"""The configured servers; each runs in its own task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated

import msgspec

from nanobot.errors import ToolArgumentsError, UsageError
from nanobot.messages import Role
from nanobot.plugins.mcp import pins as pinning
from nanobot.plugins.mcp.pins import MemoryPins, Pins, ServerReview
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.server import McpServer, connect
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.mcp.tool_search import finding_tools
from nanobot.plugins.mcp.views import Servers, ServerView, unknown_server
from nanobot.ports import Clock
from nanobot.text import quoted
from nanobot.tools.base import AnyTool, CallContext, Effect, Tool, ToolOutput
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.blobs import Blobs

_MAX_SECONDS = 3_700.0
UNPINNED = MemoryPins(everything=True)
"""For servers with `pin = "off"`."""
# Longer than a program is given to exit.
_STOP_SECONDS = 7.0


class ReadResource(msgspec.Struct, frozen=True):
    """Arguments of mcp_read."""

    server: Annotated[str, msgspec.Meta(description="The server's name")]
    uri: Annotated[str, msgspec.Meta(description="The resource to read")] = ""
    prompt: Annotated[str, msgspec.Meta(description="Or the prompt to get")] = ""
    arguments: Annotated[
        dict[str, str], msgspec.Meta(description="For a prompt: its arguments")
    ] = {}


class McpServers(Servers):
    """All servers, which add their tools to the registry when they are connected. Images in their
    results are stored in `blobs`, accepted tools in `pins`.
    """

    def __init__(  # noqa: PLR0913 - each is a part of its own
        self,
        settings: Mapping[str, McpSettings],
        registry: ToolRegistry,
        clock: Clock,
        environ: Mapping[str, str],
        place: ServerPlace,
        blobs: Blobs,
        pins: Pins,
    ) -> None:
        connector = partial(connect, place.environment(environ), place)
        self._servers = {
            name: McpServer(
                name, own, registry, clock, connector, blobs, UNPINNED if own.pin == "off" else pins
            )
            for name, own in settings.items()
        }
        self._pins = pins
        enabled = sorted(name for name, own in settings.items() if own.enabled)
        members = any(own.members for own in settings.values() if own.enabled)
        roles = frozenset({Role.OWNER, Role.MEMBER} if members else {Role.OWNER})
        self._tools: list[AnyTool] = []
        if enabled:
            found = finding_tools(registry, enabled, roles)
            self._tools = [*found, self._read_tool(enabled, roles)]

    def tools(self) -> list[AnyTool]:
        """See views.Servers."""
        return self._tools

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Keep the servers connected within this context; entering it does not wait for them."""
        async with asyncio.TaskGroup() as tasks:
            running = {
                tasks.create_task(server.run(), name=f"MCP server {server.name}")
                for server in self._servers.values()
                if server.settings.enabled
            }
            try:
                yield
            finally:
                for server in self._servers.values():
                    server.stop()
                while running:
                    for task in running:
                        task.cancel()
                    _, running = await asyncio.wait(running, timeout=_STOP_SECONDS)

    def views(self) -> list[ServerView]:
        """The state of each server, by name."""
        return [self._servers[name].view for name in sorted(self._servers)]

    async def review(self, server: str) -> ServerReview:
        """See views.Servers."""
        self._pinned(server)
        return pinning.review(server, await self._pins.listed(server))

    async def accept(self, server: str, code: str, by: str) -> int:
        """See views.Servers."""
        self._pinned(server)
        count = await pinning.accept(self._pins, server, code, by)
        self._servers[server].look()
        return count

    def _pinned(self, server: str) -> None:
        if server not in self._servers:
            raise unknown_server(server)
        if self._servers[server].settings.pin == "off":
            raise UsageError(f'Tools of {server} need no acceptance: mcp.{server}.pin is "off".')

    def _read_tool(self, enabled: list[str], roles: frozenset[Role]) -> Tool[ReadResource]:
        async def run(args: ReadResource, context: CallContext) -> ToolOutput:
            server = self._servers.get(args.server)
            members = context.role is not Role.OWNER
            if server is None or not server.settings.enabled:
                names = ", ".join(enabled)
                raise ToolArgumentsError(f"server: {quoted(args.server, 64)} is not one of {names}")
            if members and not server.settings.members:
                raise ToolArgumentsError(f"server: {args.server} is for owners")
            if args.uri and args.prompt:
                raise ToolArgumentsError("either uri or prompt, not both")
            if args.uri:
                return await server.ask(
                    lambda link: link.read(args.uri), args.uri, context, "resources/read"
                )
            if args.prompt:
                return await server.ask(
                    lambda link: link.prompt(args.prompt, args.arguments),
                    f"prompt {args.prompt}",
                    context,
                    "prompts/get",
                )
            return await server.ask(
                lambda link: link.catalogue(), "catalogue", context, "resources/list"
            )

        return Tool(
            name="mcp_read",
            description=(
                "Read a resource of an MCP server, or get one of its prompts; without either, list "
                f"what there is. Servers: {', '.join(enabled)}."
            ),
            args=ReadResource,
            run=run,
            effect=Effect.NONE,
            sends=lambda args, _: bool(args.uri or args.prompt),
            timeout=_MAX_SECONDS,
            allowed=roles,
        )
