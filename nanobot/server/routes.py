"""The routes there are whenever anything is served: health, and the hooks."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from nanobot.server.application import Handler, Route
from nanobot.server.wire import Problem, answer, body_of
from nanobot.triggers.webhooks.webhook import Webhooks

_BODY_SECONDS = 30.0


def health(ready: Callable[[], bool], role: str = "all") -> list[Route]:
    """/healthz: it lives. /readyz: it can be used; 503 before that, and while it stops. Both say
    what the process does of all that a gateway does."""

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


def hooks_route(hooks: Webhooks, body_seconds: float = _BODY_SECONDS) -> list[Route]:
    """/hooks/NAME, which is guarded by the hook's own secret. A body has to be there in time."""
    return [
        Route(method="POST", path="/hooks/{name}", handler=_taking(hooks, body_seconds), open=True)
    ]


def _taking(hooks: Webhooks, body_seconds: float) -> Handler:
    async def take(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        headers = {key.lower(): value for key, value in request.headers.items()}
        body = await body_of(request, hooks.limit(name), body_seconds)
        reply = await hooks.take(name, headers, body)
        return answer(reply.status, reply.body, reply.headers)

    return take
