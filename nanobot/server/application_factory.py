"""Builds everything served over HTTP, at the first connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nanobot.config.settings.channels import WebSettings
from nanobot.ports import Clock
from nanobot.propagation import Propagation
from nanobot.seam.faces import Deliveries
from nanobot.server.access import Access
from nanobot.server.admission import Admission
from nanobot.server.application import Application, Route
from nanobot.server.channel_routes import Doors, channel_routes
from nanobot.server.descriptions import DOORS, delivering
from nanobot.server.from_plugins import FromPlugins
from nanobot.server.metrics import MetricsRoute
from nanobot.server.plugin_routes import Described, routes_of_plugins
from nanobot.server.routes import deliveries_route, health
from nanobot.text import Sentence


@dataclass(frozen=True, kw_only=True)
class Served:
    """The routes to serve. Without `plugins`: only health, deliveries and the endpoints of
    channels."""

    settings: WebSettings
    access: Access
    clock: Clock
    deliveries: Mapping[str, Deliveries]
    ready: Callable[[], bool]
    role: str
    ending: asyncio.Event
    plugins: FromPlugins | None
    doors: Doors | None = None
    propagation: Propagation = field(default_factory=Propagation)


async def application_of(served: Served) -> Application:
    """The application over it, ready for connections."""
    admission = Admission(served.settings, served.access, served.clock)
    routes = await routes_of(served, admission)
    absent = _nothing if served.plugins is None else served.plugins.absent
    application = Application(
        routes, admission, served.propagation, ending=served.ending, absent=absent
    )
    return await application.start()


def _nothing(_path: str) -> Sentence:
    return ""


async def routes_of(served: Served, admission: Admission) -> list[Route]:
    """All routes."""
    routes = health(served.ready, served.role)
    for path, deliveries in served.deliveries.items():
        routes += deliveries_route(path, deliveries, propagation=served.propagation)
    if served.doors is not None:
        routes += channel_routes(served.doors)
    if served.plugins is not None:
        described = Described()
        more = {Admission: admission, Described: described}
        brought = await routes_of_plugins(served.plugins.each, more)
        described.routes = [
            *(delivering(path, each.about) for path, each in served.deliveries.items()),
            *(DOORS if served.doors is not None else ()),
            *(route.described for route in brought if route.described is not None),
        ]
        routes += [*brought, MetricsRoute(served.plugins.each).route()]
    return routes
