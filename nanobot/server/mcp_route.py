"""/mcp: the tools of `nanobot mcp serve` over streamable HTTP, with the same token as the rest."""

from __future__ import annotations

import asyncio
from importlib import import_module

from aiohttp import web

from nanobot.server.api_parts import ApiParts
from nanobot.server.application import Route
from nanobot.server.asgi import answered
from nanobot.server.operation_routes import BODY_LIMIT, BODY_SECONDS
from nanobot.server.session_routes import all_sessions, refusing
from nanobot.server.wire import Problem, body_of


class McpRoute:
    """POST, GET and DELETE /mcp, for owners. Each request stands for itself; the library is loaded
    by the first."""

    def __init__(self, api: ApiParts) -> None:
        self._api = api

    def routes(self) -> list[Route]:
        """The ways to ask."""
        handler = refusing(self._serve)
        return [
            Route(method=method, path="/mcp", handler=handler)
            for method in ("POST", "GET", "DELETE")
        ]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        all_sessions(request)
        if request.method != "POST":
            raise Problem(405, "method_not_allowed", "There are no sessions.", {"Allow": "POST"})
        body = await body_of(request, BODY_LIMIT, BODY_SECONDS)
        try:
            tools = await asyncio.to_thread(import_module, "nanobot.server.mcp_tools")
            library = await asyncio.to_thread(import_module, "mcp.server.streamable_http_manager")
        except ImportError:
            text = "Install nanobot-gateway[mcp] to be asked by MCP."
            raise Problem(501, "not_installed", text) from None
        manager = library.StreamableHTTPSessionManager(
            tools.McpTools(self._api).server(), stateless=True
        )
        async with manager.run():
            return await answered(manager.handle_request, request, body)
