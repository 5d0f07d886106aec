"""The HTTP server of a gateway, as its other parts see it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from nanobot.boundary import ungrouped
from nanobot.config.loader import Config
from nanobot.plugins.common.http.access import Access, Credentials
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.web_server import Answering, WebServer
from nanobot.plugins.http.token import token_of
from nanobot.seam.http import Http
from nanobot.tools.redact import Redactor


class HttpService(Http):
    """See Http. `access` says who may ask."""

    lacks = ""

    def __init__(self, config: Config) -> None:
        self.access = Access(config.home)
        self._home = config.home
        self._web = config.of(WebSettings)
        self._draining: list[Callable[[], None]] = []
        self._drained = False
        self._server: WebServer | None = None

    @property
    def url(self) -> str:
        """Its URL; "" while it serves nothing."""
        return "" if self._server is None else self._server.url

    @property
    def address(self) -> str:
        """The address for use on this machine: if the server listens on all addresses, the local
        one.
        """
        port = self.url.rpartition(":")[2]
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._web.host, "")  # noqa: S104
        return f"http://{host}:{port}" if host else self.url

    @property
    def api_url(self) -> str:
        """The public URL, where it serves more than channel endpoints and deliveries."""
        return self.access.url

    def channel_url(self, name: str) -> str:
        return self._web.channel_url(name)

    @asynccontextmanager
    async def serving(self, load: Callable[[], Awaitable[Answering]]) -> AsyncIterator[None]:
        """Serve what `load` gives, which is called at the first connection. Raises ConfigError."""
        self._server = WebServer(self._web, load)
        with ungrouped():
            async with self._server.serving():
                yield

    def open_to(self, credentials: Credentials | None, redact: Redactor) -> None:
        """Serve the page and the HTTP API to whom has these, or the own token. Raises
        ConfigError."""
        web = self._web
        self.access.credentials = credentials
        self.access.own = token_of(self._home, web.token)
        redact.also(self.access.own)
        self.access.url = web.public_url.rstrip("/") or self.address + web.prefix

    def on_drain(self, call: Callable[[], None]) -> None:
        self._draining.append(call)
        if self._drained:
            call()

    async def drain(self) -> None:
        self.ready = False
        self._drained = True
        for call in self._draining:
            call()
        if self._server is not None:
            await self._server.drain()
