"""Builds everything served over HTTP, at the first connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nanobot import __version__
from nanobot.config.settings.channels import WebSettings
from nanobot.ports import Clock
from nanobot.propagation import Propagation
from nanobot.seam.faces import Deliveries
from nanobot.server.access import Access
from nanobot.server.admission import Admission
from nanobot.server.api_parts import ApiParts
from nanobot.server.application import Application, Route
from nanobot.server.channel_routes import Doors, channel_routes
from nanobot.server.descriptions import DOORS, delivering
from nanobot.server.event_routes import EventRoutes
from nanobot.server.file_routes import FileRoutes
from nanobot.server.login import login_routes
from nanobot.server.metrics import MetricsRoute
from nanobot.server.openapi import openapi_route
from nanobot.server.operation_routes import operation_routes
from nanobot.server.plugin_routes import routes_of_plugins
from nanobot.server.route_description import RouteDescription
from nanobot.server.routes import deliveries_route, health
from nanobot.server.session_routes import Conversations
from nanobot.server.socket import Socket
from nanobot.server.watching import Watching
from nanobot.text import Sentence


@dataclass(frozen=True, kw_only=True)
class Served:
    """The routes to serve. Without `api`: only health, deliveries and the endpoints of channels."""

    settings: WebSettings
    access: Access
    clock: Clock
    deliveries: Mapping[str, Deliveries]
    ready: Callable[[], bool]
    role: str
    ending: asyncio.Event
    api: ApiParts | None
    watching: Watching | None
    doors: Doors | None = None
    propagation: Propagation = field(default_factory=Propagation)


async def application_of(served: Served) -> Application:
    """The application over it, ready for connections."""
    admission = Admission(served.settings, served.access, served.clock)
    routes = await routes_of(served, admission)
    application = Application(
        routes, admission, served.propagation, ending=served.ending, absent=_absent(served.api)
    )
    return await application.start()


def _absent(api: ApiParts | None) -> Callable[[str], Sentence]:
    return api.absent if api is not None else lambda _path: ""


async def routes_of(served: Served, admission: Admission) -> list[Route]:
    """All routes."""
    routes = health(served.ready, served.role)
    for path, deliveries in served.deliveries.items():
        routes += deliveries_route(path, deliveries, propagation=served.propagation)
    if served.doors is not None:
        routes += channel_routes(served.doors)
    if served.api is not None and served.watching is not None:
        await asyncio.to_thread(_read, served.api)
        also = [delivering(path, each.about) for path, each in served.deliveries.items()]
        also += DOORS if served.doors is not None else ()
        brought = await routes_of_plugins(served.api.each_plugin)
        also += [route.described for route in brought if route.described is not None]
        routes += [*brought, *_routes(served.api, served.watching, admission, also)]
    return routes


def _read(api: ApiParts) -> None:
    """Resolve the annotations of all operations, which the first request would otherwise have to
    do.
    """
    for operation in api.operations.listed:
        operation.parameters  # noqa: B018 - it is kept


def _routes(
    api: ApiParts,
    watching: Watching,
    admission: Admission,
    also: list[RouteDescription],
) -> list[Route]:
    operations = api.operations
    conversations = Conversations(operations, api.intake, watching.streams)
    return [
        *login_routes(admission, api.frontend, operations.listed),
        *conversations.routes(),
        *FileRoutes(api.received, operations.engine).routes(),
        MetricsRoute(api.each_plugin).route(),
        *EventRoutes(watching, admission).routes(),
        Socket(operations, conversations, watching, admission).route(),
        *operation_routes(operations),
        openapi_route(operations.listed, __version__, cookie=admission.access.cookie, also=also),
    ]
