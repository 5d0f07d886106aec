"""A web server on loopback with hooks whose publishing is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nanobot.errors import StoreUnwritable
from nanobot.plugins.common.http.access import Access
from nanobot.plugins.common.http.admission import Admission
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.web_server import WebServer
from nanobot.plugins.common.jobs.triggers import Taken
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.webhook import Webhook, Webhooks
from nanobot.plugins.http.application import Application
from nanobot.plugins.http.routes import deliveries_route, health
from nanobot.plugins.web_access.named import NamedAccess
from nanobot.plugins.web_access.store import SqlAccessTokens
from nanobot.ports import Clock
from nanobot.testing.gateway import MemoryHome, Process
from nanobot.testing.machine import ManualClock

SECRET = "It's a Secret to Everybody"
PATIENCE = 10.0


class Told:
    """Keeps what is published once by its key, `room` times."""

    def __init__(self, room: int = 10_000) -> None:
        self.texts: list[str] = []
        self.keys: list[str] = []
        self.room = room
        self.broken = False

    async def publish(self, text: str, *, key: str = "") -> Taken:
        await asyncio.sleep(0)
        if self.broken:
            raise StoreUnwritable("the disk is full")
        if key and key in self.keys:
            return "known"
        if len(self.texts) >= self.room:
            return "full"
        self.texts.append(text)
        self.keys.append(key)
        return "taken"


class Bench:
    """What a test has of it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.told = Told()
        self.ready = True

    def hook(self, name: str, **settings: object) -> Webhook:
        """A hook whose publishing this bench records."""
        given = {"secret": SECRET, "prompt": "{n}"} | settings
        return Webhook(name, HookSettings(**given), self.told, self.clock)  # type: ignore[arg-type]

    @asynccontextmanager
    async def serving(
        self,
        *hooks: Webhook,
        web: WebSettings = WebSettings(port=0),  # noqa: B008 - frozen
        more: Sequence[Route] = (),
        body_seconds: float = PATIENCE,
        **limits: Any,
    ) -> AsyncIterator[WebServer]:
        """A server with the hooks, health and `more`; its token is `token`."""
        taking = Webhooks({hook.name: hook for hook in hooks})
        routes = [
            *health(lambda: self.ready),
            *deliveries_route("/hooks", taking, body_seconds),
            *more,
        ]
        async with serve(web, "token", routes, self.clock, **limits) as server:
            yield server


@asynccontextmanager
async def serve(
    settings: WebSettings,
    token: str,
    routes: Sequence[Route],
    clock: Clock | None = None,
    *,
    connections: int | None = None,
    **limits: Any,
) -> AsyncIterator[WebServer]:
    """A server of these routes, which the token opens."""
    async with MemoryHome() as home:
        process = Process(home)
        tokens = SqlAccessTokens(process, process.writer)
        named = NamedAccess(tokens, clock or home.clock)
        access = Access(Path("/nonexistent"), named)
        access.own = token
        admission = Admission(settings, access, clock or home.clock)
        server = WebServer(
            settings, Application(routes, admission, **limits).start, connections=connections
        )
        async with server.serving():
            yield server


async def exchange(url: str, raw: bytes, *, more: bytes = b"") -> bytes:
    """All that comes back for these bytes, until the other side closes."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        async with asyncio.timeout(PATIENCE):
            writer.write(raw)
            if more:
                writer.write(more)
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
