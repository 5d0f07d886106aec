"""An MCP server over HTTP that is written by hand, with a session: it keeps what it is sent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

SESSION = "session-of-the-double"
VERSION = "2025-06-18"
_TOOL = {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}}


class McpHttp:
    """`calls` holds each call's parameters with the headers of its request."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[tuple[dict[str, Any], dict[str, str]]] = []

    async def take(self, request: web.Request) -> web.Response:
        """Handle a request to /mcp."""
        message = json.loads(await request.read())
        if "id" not in message:
            return web.Response(status=202)
        result: dict[str, Any] | None = None
        match message["method"]:
            case "initialize":
                info = {"name": "double", "version": "1"}
                result = {"protocolVersion": VERSION, "capabilities": {"tools": {}}}
                result |= {"serverInfo": info}
            case "tools/list":
                result = {"tools": [_TOOL]}
            case "tools/call":
                headers = {name.lower(): value for name, value in request.headers.items()}
                self.calls.append((message["params"], headers))
                failed = message["params"].get("arguments") == {}
                result = {"content": [{"type": "text", "text": "3"}], "isError": failed}
            case _:
                pass
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        answer |= (
            {"error": {"code": -32601, "message": "no such method"}}
            if result is None
            else {"result": result}
        )
        return web.json_response(answer, headers={"Mcp-Session-Id": SESSION})


@asynccontextmanager
async def serving_mcp() -> AsyncIterator[McpHttp]:
    """A server on a port of its own."""
    server = McpHttp()
    app = web.Application()
    app.router.add_post("/mcp", server.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}/mcp"
    try:
        yield server
    finally:
        await runner.cleanup()
