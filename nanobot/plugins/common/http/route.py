"""A route over HTTP, as plugins give it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from nanobot.plugins.common.http.route_description import RouteDescription

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A route. A part of `path` like `{name}` matches one path segment, `{name:.+}` all that
    follow; the handler finds them decoded in the request's `match_info`. `open`: no credentials are
    required. `always`: it is also served while draining. Of a plugin: `everyone`: it is not
    for owners only; `whole`: its path is not below /plugins/NAME, which only plugins of nanobot may
    have; `described`: the OpenAPI document lists it.
    """

    method: str
    path: str
    handler: Handler
    open: bool = False
    everyone: bool = False
    always: bool = False
    whole: bool = False
    described: RouteDescription | None = None
