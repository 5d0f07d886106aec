"""/mcp: the tools of `nanobot mcp serve` over streamable HTTP, with the same token as the rest."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any, Literal

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType

from nanobot.config.loader import Config
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.common.http.admission import principal_of
from nanobot.plugins.common.http.refusals import refusing
from nanobot.plugins.common.http.requests import BODY_LIMIT, BODY_SECONDS, owners_only
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.route_description import (
    EVENTS,
    JSON,
    TYPED,
    Media,
    RouteDescription,
    json_of,
)
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.wire import Problem, answer, body_of
from nanobot.plugins.common.optional import lack
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.mcp.asgi import answered


class JsonRpc(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the Model Context Protocol: a request, or without `id` a notification."""

    jsonrpc: Literal["2.0"]
    method: str
    id: int | str | UnsetType = UNSET
    params: dict[str, Any] | None = None


_messages = msgspec.json.Decoder(JsonRpc)
_INVALID_REQUEST = -32600


class JsonRpcError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a message was refused."""

    code: int
    message: str
    data: Any = None


class JsonRpcAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a request of the Model Context Protocol, or a notification before it."""

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    method: str = ""
    params: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: JsonRpcError | None = None


def routes(operations: Dispatcher, runs: RunService, config: Config) -> list[Route]:
    """The only route."""
    handler = refusing(McpRoute(operations, runs, config).serve)
    return [Route(method="POST", path="/mcp", handler=handler, whole=True, described=_DESCRIBED)]


_DESCRIBED = RouteDescription(
    method="post",
    path="/mcp",
    name="mcp",
    summary="Takes a message of the Model Context Protocol (streamable HTTP, no sessions).",
    takes=json_of(JsonRpc),
    answers={JSON: Media(of=JsonRpcAnswer), EVENTS: Media(events=JsonRpcAnswer)},
    also={202: "A notification was taken."},
    refusals=(*TYPED, 404, 406, 501),
    own_refusals=(400, 404, 406),
    refusal=JsonRpcAnswer,
)


class McpRoute:
    """POST /mcp, for owners. Requests are independent: there are no sessions to end and no streams
    to follow. The first request loads the library.
    """

    def __init__(self, operations: Dispatcher, runs: RunService, config: Config) -> None:
        self._operations = operations
        self._runs = runs
        self._web = config.of(WebSettings)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one message."""
        owners_only(request)
        trusted = principal_of(request).name in self._web.trusted_programs
        body = await body_of(request, BODY_LIMIT, BODY_SECONDS)
        if request.content_type != "application/json":
            raise Problem(415, "unsupported_type", "Send a message as application/json.")
        try:
            _messages.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _invalid(str(error))
        try:
            tools = await asyncio.to_thread(import_module, "nanobot.plugins.mcp.offered_tools")
            library = await asyncio.to_thread(import_module, "mcp.server.streamable_http_manager")
        except ImportError:
            text = lack("mcp") or "A part of the MCP library cannot be loaded."
            raise Problem(501, "not_installed", text) from None
        offered = tools.McpTools(
            self._operations, self._runs, approves=self._web.mcp_approves, trusted=trusted
        )
        manager = library.StreamableHTTPSessionManager(offered.server(), stateless=True)
        async with manager.run():
            return await answered(manager.handle_request, request, body)


def _invalid(why: str) -> web.Response:
    """An error in the form of that protocol."""
    error = {"code": _INVALID_REQUEST, "message": f"Invalid request: {why}"}
    return answer(400, {"jsonrpc": "2.0", "id": None, "error": error})
