"""A small reverse proxy on loopback that serves a gateway below a path, as nginx or Traefik do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import WSMsgType, web

_OF_ONE_HOP = {"connection", "transfer-encoding", "upgrade", "keep-alive"}


class Proxy:
    """What comes below `prefix` goes to `target`, without the prefix where `strips`, which the
    gateway is told then where `tells`. `url` is that of the gateway for those who ask here."""

    def __init__(self, target: str, prefix: str, *, strips: bool, tells: bool) -> None:
        self.url = ""
        self.prefix = prefix
        self._target = target
        self._strips = strips
        self._tells = tells

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Proxy]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._forward)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        async with aiohttp.ClientSession(auto_decompress=False) as self._session:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            self.url = f"http://127.0.0.1:{port}{self.prefix}"
            try:
                yield self
            finally:
                await runner.cleanup()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if path != self.prefix and not path.startswith(f"{self.prefix}/"):
            return web.Response(status=404, text="another program is served here")
        headers = {key: v for key, v in request.headers.items() if key.lower() not in _OF_ONE_HOP}
        headers["X-Forwarded-For"] = request.remote or ""
        if self._strips:
            path = path.removeprefix(self.prefix) or "/"
            if self._tells:
                headers["X-Forwarded-Prefix"] = self.prefix
        url = f"{self._target}{path}"
        if request.rel_url.raw_query_string:
            url += f"?{request.rel_url.raw_query_string}"
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._socket(request, url, headers)
        async with self._session.request(
            request.method, url, headers=headers, data=await request.read(), allow_redirects=False
        ) as answer:
            response = web.StreamResponse(status=answer.status)
            for key, value in answer.headers.items():
                if key.lower() not in _OF_ONE_HOP:
                    response.headers.add(key, value)
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            return response

    async def _socket(
        self, request: web.Request, url: str, headers: dict[str, str]
    ) -> web.StreamResponse:
        kept = {k: v for k, v in headers.items() if not k.lower().startswith("sec-websocket")}
        async with self._session.ws_connect(url, headers=kept) as there:
            here = web.WebSocketResponse()
            await here.prepare(request)
            async with asyncio.TaskGroup() as tasks:
                back = tasks.create_task(_pipe(there, here))
                await _pipe(here, there)
                back.cancel()
            return here


async def _pipe(
    source: aiohttp.ClientWebSocketResponse | web.WebSocketResponse,
    target: aiohttp.ClientWebSocketResponse | web.WebSocketResponse,
) -> None:
    async for message in source:
        if message.type is WSMsgType.TEXT:
            await target.send_str(message.data)
    await target.close()
