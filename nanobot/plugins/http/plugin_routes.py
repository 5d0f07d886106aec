"""The routes of plugins, below /plugins/NAME and elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from nanobot.boundary import boundary
from nanobot.errors import NotAllowed, PluginBroken, UnknownId, UsageError
from nanobot.plugins.common.awaited import each_awaited
from nanobot.plugins.common.http.refusals import problem_of
from nanobot.plugins.common.http.requests import owners_only
from nanobot.plugins.common.http.route import Handler, Route
from nanobot.plugins.common.http.wire import Problem
from nanobot.seam.given import listed
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import NOTHING, Contributions, Things
from nanobot.text import pattern

ROUTES_SECONDS = 60.0
"""The time limit for a plugin to make its routes; the first request waits for it."""

_PATH = pattern(r"/[A-Za-z0-9_./{}:+-]{0,200}")


async def routes_of_plugins(plugins: Contributions, more: Things = NOTHING) -> list[Route]:
    """The routes of plugins, whose functions may also request `more`. They are for owners, unless
    declared `open` or for `everyone`."""
    routes: list[Route] = []

    def use(found: FoundPlugin, given: Any) -> None:
        new = listed(given, Route)
        for route in new:
            if _PATH.fullmatch(route.path) is None:
                raise PluginBroken(f"a route has the path {route.path!r}: it begins with a /")
            if route.whole and found.package:
                raise PluginBroken(f"the route {route.path!r} must be below its own path")
        routes.extend(_placed(found, route) for route in new)

    await each_awaited(plugins, "routes", use, ROUTES_SECONDS, more)
    return routes


def _placed(plugin: FoundPlugin, route: Route) -> Route:
    path = route.path if route.whole else f"/plugins/{plugin.name}{route.path}"
    described = route.described
    if described is not None:
        described = msgspec.structs.replace(described, path=path)
    handler = _contained(plugin, route)
    return msgspec.structs.replace(route, path=path, handler=handler, described=described)


def _contained(plugin: FoundPlugin, route: Route) -> Handler:
    """The handler; failures of another package are attributed to the plugin."""
    name = plugin.name

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            if not route.open and not route.everyone:
                owners_only(request)
            return _response(await route.handler(request))
        except (NotAllowed, UsageError, UnknownId) as error:
            raise problem_of(error) from None

    if not plugin.package:
        return handle

    async def contained(request: web.Request) -> web.StreamResponse:
        refusals: list[Exception] = []
        with boundary(f"a route of the plugin {name}"):
            try:
                return await handle(request)
            except (Problem, web.HTTPException, ConnectionError) as error:
                refusals.append(error)
        raise next(iter(refusals), Problem(500, "plugin", f"The plugin {name} failed."))

    return contained


def _response(given: Any) -> web.StreamResponse:
    if not isinstance(given, web.StreamResponse):
        raise PluginBroken(f"it answers with a {type(given).__name__}, not a response")
    return given
