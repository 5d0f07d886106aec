"""A route over HTTP, as plugins give it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from nanobot.plugins.common.http.route_description import RouteDescription

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A route. A part of `path` like `{name}` matches one path segment, `{name:.+}` all that
    follow; the handler finds them decoded in the request's `match_info`. Of a plugin: `everyone`:
    it is not for owners only."""

    method: str
    path: str
    handler: Handler
    open: bool = False
    """No credentials are required."""
    everyone: bool = False
    always: bool = False
    """It is also served while draining."""
    whole: bool = False
    """Its path is not below /plugins/NAME, which only plugins of nanobot may have."""
    described: RouteDescription | None = None
    """The OpenAPI document lists it."""
