"""The HTTP application: aiohttp's router over our routes, with the guards before each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from aiohttp import web

from nanobot.boundary import boundary
from nanobot.messages import Role
from nanobot.plugins.common.http.admission import Admission, principal_of
from nanobot.plugins.common.http.path_prefix import own_path
from nanobot.plugins.common.http.route import Handler, Route
from nanobot.plugins.common.http.wire import (
    QUIET,
    Connection,
    Problem,
    answer,
    asked_to_go_on,
    failed,
    headers_of,
    wanted,
)
from nanobot.plugins.common.propagation import Propagation
from nanobot.text import Sentence

_IDLE_SECONDS = 15.0
_LINGER_SECONDS = 2.0
_CODES = {404: "not_found", 405: "method_not_allowed"}
_TEXTS = {404: "There is nothing here.", 405: "Not with this method."}

Absent: TypeAlias = Callable[[str], Sentence]


class Application:
    """The Answering over `routes`, for the callers that `admission` lets in. Connections
    have `idle_seconds` to send the head of a request, from their start or from the previous
    response. `ending` is set when no new requests are accepted: streams should then end. `absent`
    says why a path without a route is not served, if there is a reason.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        admission: Admission,
        propagation: Propagation | None = None,
        *,
        idle_seconds: float = _IDLE_SECONDS,
        ending: asyncio.Event | None = None,
        absent: Absent = lambda _path: "",
    ) -> None:
        self._admission = admission
        self._propagation = propagation or Propagation()
        self._ending = ending or asyncio.Event()
        self._absent = absent
        app = web.Application(middlewares=[self._errors, self._guard])
        for route in routes:
            self._add(app.router, route, route.path)
            if admission.prefix:
                self._add(app.router, route, f"{admission.prefix}{route.path}")
        if admission.prefix:
            app.router.add_get(admission.prefix, _to_root)
        log = logging.getLogger("nanobot.server")
        log.addHandler(logging.NullHandler())
        log.propagate = False
        self._options: dict[str, Any] = {
            "keepalive_timeout": idle_seconds,
            "lingering_time": _LINGER_SECONDS,
            "auto_decompress": False,
            "access_log": None,
            "logger": log,
        }
        self._runner = web.AppRunner(app, **self._options)
        self._loop = asyncio.get_running_loop()

    def _add(self, router: web.UrlDispatcher, route: Route, path: str) -> None:
        handler = self._answering(route)
        if route.method == "GET":
            router.add_get(path, handler, expect_handler=asked_to_go_on)
        else:
            router.add_route(route.method, path, handler, expect_handler=asked_to_go_on)

    async def start(self) -> Application:
        """Ready for connections."""
        await self._runner.setup()
        return self

    @property
    def _server(self) -> web.Server:
        return cast("web.Server", self._runner.server)

    def __call__(self) -> asyncio.Protocol:
        return Connection(self._server, self._admission.seats, loop=self._loop, **self._options)

    def __len__(self) -> int:
        return len(self._server.connections)

    async def finish(self, seconds: float) -> None:
        self._ending.set()
        self._server.pre_shutdown()
        await self._server.shutdown(seconds)

    @web.middleware
    async def _errors(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turns every exception into a response that reveals no internals."""
        problem, gone = failed(), False
        with boundary("a request over HTTP"):
            try:
                return await handler(request)
            except Problem as refusal:
                problem = refusal
            except web.HTTPException as refused:
                problem = self._refused(refused, own_path(request))
            except ConnectionError:
                gone = True
        if gone or request.writer.output_size > 0:
            raise asyncio.CancelledError  # to nobody, or within the first response
        body = problem.for_path(own_path(request), wanted(request))
        return answer(problem.status, body, problem.headers)

    def _refused(self, refused: web.HTTPException, path: str) -> Problem:
        status = refused.status
        headers = {"Allow": refused.headers["Allow"]} if "Allow" in refused.headers else {}
        if status == 404 and (why := self._absent(path)):
            return Problem(404, "plugin_off", why)
        text = _TEXTS.get(status, refused.reason)
        return Problem(status, _CODES.get(status, "bad_request"), text, headers)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self._admission.check_origin(request)
        return await handler(request)

    def _answering(self, route: Route) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            if not route.open:
                await self._admission.admit(request)
                _check_query(request)
            if self._ending.is_set() and not route.always:
                raise Problem(503, "draining", "It is stopping.", {"Retry-After": "10"})
            if route.open or route.method != "POST":
                return await route.handler(request)
            trusted = principal_of(request).role is Role.OWNER
            headers = partial(headers_of, request)
            with self._propagation.receiving(headers, trusted=trusted):
                return await route.handler(request)

        return handle


def _check_query(request: web.Request) -> None:
    """Raises Problem if a name is there twice: which of its values is meant is unknown."""
    names = [name for name, _ in request.query.items()]
    for name in names:
        if names.count(name) > 1:
            raise Problem(400, "bad_request", f"`{name[:80]}` is there twice")


async def _to_root(request: web.Request) -> web.StreamResponse:
    """The page's path ends with a /, so that relative URLs on it are below that path."""
    return web.Response(status=308, headers={**QUIET, "Location": f"{request.path}/"})
