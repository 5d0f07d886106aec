"""HTTP: selects the routes by the configuration."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from nanobot.boundary import ungrouped
from nanobot.channels.web import WebChannel
from nanobot.config.loader import Config
from nanobot.ports import Clock
from nanobot.propagation import Propagation
from nanobot.seam.faces import Deliveries, Frontend, Http
from nanobot.server.access import Access, Credentials
from nanobot.server.token import token_of
from nanobot.server.web_server import Answering, WebServer
from nanobot.tools.redact import Redactor

if TYPE_CHECKING:
    from nanobot.server.channel_routes import Doors
    from nanobot.server.from_plugins import FromPlugins


class HttpService(Http):
    """A gateway's HTTP server. With `web.enabled` it serves everything; otherwise the endpoints of
    channels and `deliveries` (by the prefixes of their paths), and health if there are any of
    these. The application is loaded at the first connection.
    """

    def __init__(  # noqa: PLR0913 - each is a part of its own
        self,
        config: Config,
        clock: Clock,
        redact: Redactor,
        deliveries: Callable[[], Mapping[str, Deliveries]],
        credentials: Credentials | None,
        propagation: Propagation,
        roles: str = "all",
    ) -> None:
        self._roles = roles
        self._propagation = propagation
        self.ready = False
        self.channel = WebChannel()
        self._draining: list[Callable[[], None]] = []
        self._drained = False
        self._config = config
        self._clock = clock
        self._redact = redact
        self._deliveries = deliveries
        self.frontend = Frontend()
        self.access = Access(config.home, credentials)
        self._ending = asyncio.Event()
        self._server: WebServer | None = None

    @property
    def url(self) -> str:
        """Its URL; "" while it serves nothing."""
        return "" if self._server is None else self._server.url

    @property
    def public_url(self) -> str:
        """The public URL, without a trailing /; "" while it serves nothing."""
        web = self._config.web
        own = self.address + web.prefix if self.url else ""
        return web.public_url.rstrip("/") or own

    @property
    def with_api(self) -> bool:
        """Whether it serves more than channel endpoints and deliveries."""
        return bool(self.access.url)

    @asynccontextmanager
    async def serving(
        self, plugins: FromPlugins, *, with_deliveries: bool = True, doors: Doors | None = None
    ) -> AsyncIterator[None]:
        """Serve within the context, if there is anything to serve. Raises ConfigError."""
        web = self._config.web
        deliveries = self._deliveries() if with_deliveries else {}
        if not web.enabled and not deliveries and not doors:
            yield
            return
        self._server = WebServer(
            web, partial(self._load, deliveries, plugins if web.enabled else None, doors)
        )
        with ungrouped():
            async with self._server.serving():
                if web.enabled:
                    self.access.own = token_of(self._config.home, web.token)
                    self._redact.also(self.access.own)
                    self.access.url = self.public_url
                yield

    @asynccontextmanager
    async def health_only(self) -> AsyncIterator[None]:
        """Serve health within the context, if the configuration has a port for it. Raises
        ConfigError.
        """
        web = self._config.web
        if not web.health_port:
            yield
            return
        settings = msgspec.structs.replace(web, port=web.health_port)
        server = WebServer(settings, partial(self._load, {}, None, None), exact=True)
        async with server.serving():
            yield

    async def drain(self) -> None:
        """Accept nothing new; active requests may finish."""
        self.ready = False
        self._drained = True
        for call in self._draining:
            call()
        if self._server is not None:
            await self._server.drain()

    async def _load(
        self,
        deliveries: Mapping[str, Deliveries],
        plugins: FromPlugins | None,
        doors: Doors | None,
    ) -> Answering:
        face = await asyncio.to_thread(import_module, "nanobot.server.application_factory")
        served = face.Served(
            settings=self._config.web,
            access=self.access,
            clock=self._clock,
            deliveries=deliveries,
            ready=lambda: self.ready,
            role=self._roles,
            ending=self._ending,
            plugins=plugins,
            doors=doors,
            propagation=self._propagation,
        )
        answering: Answering = await face.application_of(served)
        return answering

    def on_drain(self, call: Callable[[], None]) -> None:
        self._draining.append(call)
        if self._drained:
            call()

    @property
    def address(self) -> str:
        """The address for use on this machine: if the server listens on all addresses, the local
        one.
        """
        port = self.url.rpartition(":")[2]
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._config.web.host, "")  # noqa: S104
        return f"http://{host}:{port}" if host else self.url
