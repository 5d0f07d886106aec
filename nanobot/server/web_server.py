"""A small web server over routes that composition gives it: guarded, limited, drained."""

from __future__ import annotations

import asyncio
import errno
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from urllib.parse import unquote

import msgspec
from aiohttp import web

from nanobot.boundary import boundary
from nanobot.config.settings.channels import WebSettings
from nanobot.errors import ConfigError
from nanobot.server.guards import host_allowed, origin_allowed, token_shown
from nanobot.server.wire import Problem, WireServer, answer

_CONNECTIONS = 512
_IDLE_SECONDS = 15.0
_BACKLOG = 1_024
_FINISH_SECONDS = 5.0

Handler = Callable[[web.BaseRequest, Mapping[str, str]], Awaitable[web.StreamResponse]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to ask for. A part of `path` like `{name}` stands for any one part, which the
    handler gets decoded. `open`: no token is asked for. `always`: answered while draining too."""

    method: str
    path: str
    handler: Handler
    open: bool = False
    always: bool = False


class WebServer:
    """Serves `routes` to whoever the guards let through. `url` is where, once it serves.
    `connections` are as many as there may be at once (None: what the process has room for), each
    with `idle_seconds` for the head of a request."""

    def __init__(
        self,
        settings: WebSettings,
        token: str,
        routes: Sequence[Route],
        *,
        connections: int | None = None,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self.url = ""
        self.draining = False
        self._settings = settings
        self._token = token
        self._routes = [(tuple(route.path.split("/")), route) for route in routes]
        self._hosts = (*settings.hosts, settings.host)
        self._listening: asyncio.Server | None = None
        self._wire: WireServer | None = None
        self._most = _room() if connections is None else connections
        self._idle = idle_seconds

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve within. Raises ConfigError where it cannot listen."""
        self._wire = WireServer(self._answer, self._most, self._idle)
        host, port = self._settings.host, self._settings.port
        loop = asyncio.get_running_loop()
        try:
            self._listening = await loop.create_server(self._wire, host, port, backlog=_BACKLOG)
        except OSError as error:
            raise _unheard(error, host, port) from None
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self._listening.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            await self.drain()

    async def drain(self) -> None:
        """Take nothing new, and give what is being answered a few seconds."""
        self.draining = True
        if self._listening is None or self._wire is None:
            return
        self._listening.close()
        self._listening = None
        self._wire.pre_shutdown()
        await self._wire.shutdown(_FINISH_SECONDS)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        with boundary("a request over HTTP") as caught:
            try:
                return await self._guarded(request)
            except Problem as problem:
                return answer(problem.status, problem.body, problem.headers)
            except ConnectionError:
                raise asyncio.CancelledError from None  # nobody is there to be told
        problem = Problem(500, "internal", "Something went wrong here; the log says what.")
        if caught.error is not None:
            problem.headers = {"Connection": "close"}
        return answer(problem.status, problem.body, problem.headers)

    async def _guarded(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not host_allowed(headers.get("host", ""), self._hosts):
            text = "This name is not known here; put it into web.hosts if it should be."
            raise Problem(403, "unknown_host", text)
        if not origin_allowed(headers, self._settings.hosts):
            raise Problem(403, "foreign_origin", "Pages of other sites may not ask here.")
        route, values = self._route(request.method, request.rel_url.raw_path)
        if not route.open and not token_shown(headers, self._token):
            text = "Show the token of this gateway: Authorization: Bearer TOKEN."
            raise Problem(401, "unauthorized", text, {"WWW-Authenticate": "Bearer"})
        if self.draining and not route.always:
            raise Problem(503, "draining", "It is stopping.", {"Retry-After": "10"})
        return await route.handler(request, values)

    def _route(self, method: str, path: str) -> tuple[Route, Mapping[str, str]]:
        parts = path.split("/")
        others: list[str] = []
        for pattern, route in self._routes:
            values = _matched(pattern, parts)
            if values is None:
                continue
            if method == route.method or (method == "HEAD" and route.method == "GET"):
                return route, values
            others.append(route.method)
        if others:
            allowed = {"Allow": ", ".join(sorted(set(others)))}
            raise Problem(405, "method_not_allowed", "Not with this method.", allowed)
        raise Problem(404, "not_found", "There is nothing here.")


def _matched(pattern: Sequence[str], parts: Sequence[str]) -> dict[str, str] | None:
    if len(pattern) != len(parts):
        return None
    values = {}
    for wanted, part in zip(pattern, parts, strict=True):
        if wanted.startswith("{"):
            values[wanted[1:-1]] = unquote(part, errors="replace")
        elif wanted != part:
            return None
    return values if all(values.values()) else None


def _room() -> int:
    """Connections at once: at most half of the files that the process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _CONNECTIONS if soft == resource.RLIM_INFINITY else min(_CONNECTIONS, soft // 2)


def _unheard(error: OSError, host: str, port: int) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError(
            f"web.port: {port} on {host} is taken by another program. Stop it, or set web.port to "
            "another (0: any free one)."
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return ConfigError(
            f"web.port: {port} on {host} may not be used ({error.strerror}). Set one above 1023."
        )
    return ConfigError(
        f"web.host: cannot listen on {host}:{port} ({error.strerror or error}). Set web.host to an "
        "address of this machine, like 127.0.0.1."
    )
