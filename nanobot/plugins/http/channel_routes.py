"""/channels/NAME/...: requests from platforms, for channels that accept them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from aiohttp import web

from nanobot.plugins.common.http.route import Handler, Route
from nanobot.plugins.common.http.wire import QUIET, Problem, body_of
from nanobot.plugins.http.doors import Door
from nanobot.ports import PlatformRequest

Doors: TypeAlias = Callable[[str], Door | None]
"""The endpoint of the channel of that name; None if it accepts no requests."""

MAX_BODY = 4 * 1024 * 1024
"""The most bytes of one request: Meta's reach 3 MB."""
_BODY_SECONDS = 20.0
_MOST_BODIES = 16
_RETRY_SECONDS = 10
_CODES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found"}
_CODES |= {405: "method_not_allowed", 413: "too_large", 429: "too_many", 503: "unavailable"}


def channel_routes(doors: Doors, body_seconds: float = _BODY_SECONDS) -> list[Route]:
    """Open to all clients: the channel checks the platform's signature."""
    take = _Taking(doors, body_seconds).take
    paths = ("/channels/{name}", "/channels/{name}/{rest:.+}")
    return [
        Route(method=method, path=path, handler=take, open=True)
        for path in paths
        for method in ("GET", "POST")
    ]


class _Taking:
    """Reads requests, of which only a few are held in memory at a time, and passes them to the
    channels' endpoints.
    """

    def __init__(self, doors: Doors, body_seconds: float) -> None:
        self._doors = doors
        self._body_seconds = body_seconds
        self._reading = 0
        self.take: Handler = self._take

    async def _take(self, request: web.Request) -> web.StreamResponse:
        door = self._doors(request.match_info["name"])
        if door is None:
            raise Problem(404, "not_found", "There is nothing here.")
        if self._reading >= _MOST_BODIES:
            raise _again_later("Too many requests at once; deliver it again later.")
        self._reading += 1
        try:
            rest = request.match_info.get("rest", "")
            asked = PlatformRequest(
                method=request.method,
                path=f"/{rest}" if rest else "",
                query=dict(request.query),
                headers={name.lower(): value for name, value in request.headers.items()},
                body=await body_of(request, MAX_BODY, self._body_seconds),
            )
            reply = await door.take(asked)
        finally:
            self._reading -= 1
        if reply.status >= 400:
            text = reply.body.decode("utf-8", "replace") or "The request is refused."
            if reply.status in {429, 503}:
                raise _again_later(text, reply.status)
            raise Problem(reply.status, _CODES.get(reply.status, "refused"), text)
        return web.Response(
            status=reply.status, body=reply.body, headers=QUIET, content_type=reply.content_type
        )


def _again_later(text: str, status: int = 503) -> Problem:
    return Problem(status, _CODES[status], text, {"Retry-After": str(_RETRY_SECONDS)})
