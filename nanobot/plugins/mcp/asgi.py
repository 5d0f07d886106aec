"""Serves an ASGI application behind one aiohttp route."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import quote

from aiohttp import web

from nanobot.plugins.common.http.path_prefix import own_path
from nanobot.plugins.common.http.wire import QUIET

_Message: TypeAlias = MutableMapping[str, Any]
AsgiApplication: TypeAlias = Callable[
    [_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]],
    Awaitable[None],
]
_NOT_OURS = frozenset({"content-length", "transfer-encoding", "connection", "server", "date"})


async def answered(app: AsgiApplication, request: web.Request, body: bytes) -> web.StreamResponse:
    """The application's response to a request with that body."""
    exchange = _Exchange(request, body)
    await app(_scope(request), exchange.receive, exchange.send)
    return exchange.response


def _scope(request: web.Request) -> _Message:
    headers = [
        (name.lower().encode("latin-1", "replace"), value.encode("utf-8", "surrogateescape"))
        for name, value in request.headers.items()
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": own_path(request),
        "raw_path": quote(own_path(request)).encode(),
        "query_string": request.rel_url.raw_query_string.encode(),
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": None,
    }


class _Exchange:
    """One request and its response. The whole body has been received; a client that disconnects is
    noticed only at the next write.
    """

    def __init__(self, request: web.Request, body: bytes) -> None:
        self.response = web.StreamResponse(status=500, headers=QUIET)
        self._request = request
        self._body: bytes | None = body

    async def receive(self) -> _Message:
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body or b"", None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: _Message) -> None:
        if message["type"] == "http.response.start":
            self.response.set_status(message["status"])
            for name, value in message.get("headers", ()):
                if (shown := name.decode("latin-1").lower()) not in _NOT_OURS:
                    self.response.headers[shown] = value.decode("latin-1")
            return
        if not self.response.prepared:
            await self.response.prepare(self._request)
        if body := message.get("body", b""):
            await self.response.write(body)
