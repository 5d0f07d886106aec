"""What the doubles of platforms have in common: an HTTP server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from email.utils import formatdate
from typing import Self

from aiohttp import web


class PlatformServer:
    """Serves `routes` while it is entered, on a port of its own or the given one."""

    def __init__(self, port: int = 0) -> None:
        self.root_url = ""
        self._port = port
        self._runner: web.AppRunner | None = None
        self._changed = asyncio.Event()

    def routes(self, app: web.Application) -> None:
        """Add what the platform serves."""
        raise NotImplementedError

    def clock(self) -> float | None:
        """The platform's time in Unix seconds, None for the machine's."""
        return None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.on_response_prepare.append(self._date)
        self.routes(app)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]
        self.root_url = f"http://127.0.0.1:{self._port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _date(self, _request: web.Request, response: web.StreamResponse) -> None:
        now = self.clock()
        if now is not None:
            response.headers["Date"] = formatdate(now, usegmt=True)

    def wake(self) -> None:
        """Something happened."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def news(self) -> None:
        """Wait until something happens."""
        await self._changed.wait()

    async def until(self, holds: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until something holds; it is asked again whenever something happens."""
        async with asyncio.timeout(timeout):
            while not holds():
                await self.news()


def cut(request: web.Request) -> web.Response:
    """Break the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
