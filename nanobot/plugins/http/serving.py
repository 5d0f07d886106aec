"""When the HTTP server listens, and what it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from nanobot.app.hosting import ChannelStarter
from nanobot.app.roles import Roles, Serving
from nanobot.config.loader import Config
from nanobot.messages import WEB
from nanobot.plugins.common.faces import CurrentMetrics
from nanobot.plugins.common.http.access import Access, Credentials
from nanobot.plugins.common.http.deliveries import deliveries_of
from nanobot.plugins.common.http.frontend import Frontend
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.web_channel import WebChannel
from nanobot.plugins.common.http.web_server import Answering, WebServer
from nanobot.plugins.common.propagation import Propagation
from nanobot.plugins.http.channel_doors import ChannelDoors
from nanobot.plugins.http.service import HttpService
from nanobot.ports import Clock
from nanobot.seam.given import able
from nanobot.seam.http import Http
from nanobot.seam.offers import Contributions
from nanobot.tools.redact import Redactor

if TYPE_CHECKING:
    from nanobot.plugins.http.application_factory import Served


def objects(config: Config) -> Mapping[Any, Any]:
    """The server, which listens later, and what plugins have to do with it."""
    http = HttpService(config)
    return {
        Http: http,
        HttpService: http,
        Access: http.access,
        Frontend: Frontend(),
        WebChannel: WebChannel(),
    }


def channels(http: HttpService, page: WebChannel) -> Mapping[str, WebChannel]:
    """The page as a chat, where it is served."""
    return {WEB: page} if http.api_url else {}


@asynccontextmanager
async def listening(  # noqa: PLR0913 - each is a part of its own
    http: HttpService,
    config: Config,
    roles: Roles,
    clock: Clock,
    redact: Redactor,
    propagation: Propagation,
    metrics: CurrentMetrics,
    plugins: Contributions,
    serving: Serving,
    starter: ChannelStarter,
    credentials: Credentials | None = None,
) -> AsyncIterator[None]:
    """With `web.enabled`, everything is served within the context; otherwise the endpoints of
    channels and deliveries (by the prefixes of their paths), and health if there are any of these.
    A process without the role web serves health, if it has a port for that. The application is
    loaded at the first connection.
    """
    if not serving.page:
        yield
        return
    web = config.of(WebSettings)
    about: dict[str, Any] = {
        "settings": web,
        "access": http.access,
        "clock": clock,
        "ready": lambda: http.ready,
        "role": str(roles),
        "propagation": propagation,
    }
    if not roles.web:
        async with _health_only(web, about):
            yield
        return
    doors = ChannelDoors(starter) if serving.channels else None
    deliveries = {} if doors is None else deliveries_of(plugins)
    all_of_it = web.enabled
    if credentials is not None:
        able(credentials, Credentials)
    try:
        if not (all_of_it or deliveries or doors):
            yield
            return
        more = {"plugins": plugins, "metrics": metrics} if all_of_it else {}
        async with http.serving(
            partial(_load, **about, deliveries=deliveries, doors=doors, **more)
        ):
            if all_of_it:
                http.open_to(credentials, redact)
            yield
    finally:
        if doors is not None:
            await doors.close()


@asynccontextmanager
async def _health_only(web: WebSettings, about: Mapping[str, Any]) -> AsyncIterator[None]:
    """Serve health within the context, if the configuration has a port for it. Raises
    ConfigError."""
    if not web.health_port:
        yield
        return
    settings = msgspec.structs.replace(web, port=web.health_port)
    async with WebServer(settings, partial(_load, **about), exact=True).serving():
        yield


async def _load(**served: Any) -> Answering:
    face = await asyncio.to_thread(import_module, "nanobot.plugins.http.application_factory")
    kind: type[Served] = face.Served
    answering: Answering = await face.application_of(kind(**served))
    return answering
