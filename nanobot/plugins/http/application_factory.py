"""Builds everything served over HTTP, at the first connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from nanobot.plugins.common.faces import CurrentMetrics, Deliveries
from nanobot.plugins.common.http.access import Access
from nanobot.plugins.common.http.admission import Admission
from nanobot.plugins.common.http.descriptions import DOORS, delivering
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.route_description import Described
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.propagation import Propagation
from nanobot.plugins.http.absent import absent
from nanobot.plugins.http.application import Application
from nanobot.plugins.http.channel_routes import Doors, channel_routes
from nanobot.plugins.http.metrics_route import MetricsRoute
from nanobot.plugins.http.plugin_routes import routes_of_plugins
from nanobot.plugins.http.routes import deliveries_route, health
from nanobot.ports import Clock
from nanobot.seam.offers import Contributions
from nanobot.text import Sentence


@dataclass(frozen=True, kw_only=True)
class Served:
    """The routes to serve. Without `plugins` and `metrics`: only health, deliveries and the
    endpoints of channels."""

    settings: WebSettings
    access: Access
    clock: Clock
    ready: Callable[[], bool]
    role: str
    deliveries: Mapping[str, Deliveries] = field(default_factory=dict)
    plugins: Contributions | None = None
    metrics: CurrentMetrics | None = None
    doors: Doors | None = None
    propagation: Propagation = field(default_factory=Propagation)


async def application_of(served: Served) -> Application:
    """The application over it, ready for connections."""
    admission = Admission(served.settings, served.access, served.clock)
    routes = await routes_of(served, admission)
    why = _nothing if served.plugins is None else partial(absent, served.plugins)
    application = Application(routes, admission, served.propagation, absent=why)
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
        brought = await routes_of_plugins(served.plugins, more)
        described.routes = [
            *(delivering(path, each.about) for path, each in served.deliveries.items()),
            *(DOORS if served.doors is not None else ()),
            *(route.described for route in brought if route.described is not None),
        ]
        routes += brought
    if served.metrics is not None:
        routes.append(MetricsRoute(served.metrics).route())
    return routes
