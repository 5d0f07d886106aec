"""The routes of every server: health, and the deliveries of other services."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aiohttp import web

from nanobot.plugins.common.faces import Deliveries
from nanobot.plugins.common.http.route import Handler, Route
from nanobot.plugins.common.http.wire import Problem, answer, body_of, headers_of
from nanobot.plugins.common.propagation import Propagation

_BODY_SECONDS = 30.0


def health(ready: Callable[[], bool], role: str = "all") -> list[Route]:
    """/healthz: the process is alive. /readyz: it is ready; 503 before that, and while it stops.
    Both report the roles of the process.
    """

    async def lives(_: web.Request) -> web.StreamResponse:
        return answer(200, {"status": "ok", "role": role})

    async def can(_: web.Request) -> web.StreamResponse:
        if not ready():
            raise Problem(503, "not_ready", "It is starting or stopping.", {"Retry-After": "2"})
        return answer(200, {"status": "ready", "role": role})

    return [
        Route(method="GET", path="/healthz", handler=lives, open=True, always=True),
        Route(method="GET", path="/readyz", handler=can, open=True, always=True),
    ]


def deliveries_route(
    path: str,
    deliveries: Deliveries,
    body_seconds: float = _BODY_SECONDS,
    propagation: Propagation | None = None,
) -> list[Route]:
    """PATH/NAME, which has its own secrets. A body must arrive in time."""
    handler = _taking(deliveries, body_seconds, propagation or Propagation())
    return [Route(method="POST", path=f"{path}/{{name}}", handler=handler, open=True)]


def _taking(deliveries: Deliveries, body_seconds: float, propagation: Propagation) -> Handler:
    async def take(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        headers = {key.lower(): value for key, value in request.headers.items()}
        body = await body_of(request, deliveries.limit(name), body_seconds)
        with propagation.receiving(partial(headers_of, request), trusted=False):
            reply = await deliveries.take(name, headers, body)
        return answer(reply.status, reply.body, reply.headers)

    return take
