"""Opens the HTTP port at once, while the first connection loads the application."""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol, cast

from loguru import logger

from nanobot.boundary import boundary, ungrouped
from nanobot.errors import ConfigError
from nanobot.plugins.common.http.listener import Listener, bound
from nanobot.plugins.common.http.settings import WEB_PORT, WebSettings

_CONNECTIONS = 512
_FINISH_SECONDS = 5.0
_PORTS = 20
_BODY = b'{"error":{"code":"busy","message":"Too many connections; try it later."}}'
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nServer: nanobot\r\nRetry-After: 2\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
    % (len(_BODY), _BODY)
)


class Answering(Protocol):
    """The loaded application, which answers connections."""

    def __call__(self) -> asyncio.Protocol:
        """The protocol of one more connection."""

    def __len__(self) -> int:
        """The number of connections."""

    async def finish(self, seconds: float) -> None:
        """Accept nothing new, give active requests this long, and end the rest."""


class WebServer:
    """Listens, and passes connections to the result of `load`, which the first connection starts;
    until then they wait, unread. `url` is its address, once it serves. `connections` are the most
    at once (None: as many as the process has room for). `exact`: use no other port.
    """

    def __init__(
        self,
        settings: WebSettings,
        load: Callable[[], Awaitable[Answering]],
        *,
        connections: int | None = None,
        exact: bool = False,
    ) -> None:
        self.url = ""
        self._exact = exact or bool(settings.names or settings.prefix)
        self._settings = settings
        self._load = load
        self._most = room() if connections is None else connections
        self._listening: Listener | None = None
        self._connecting = 0
        self._answering: Answering | None = None
        self._waiting: set[_Waiting] = set()
        self._loading: asyncio.Task[None] | None = None
        self._tasks: asyncio.TaskGroup | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve within the context. Raises ConfigError if it cannot listen."""
        host = self._settings.host
        self._listening = await self._listen()
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self._listening.port}"
        with ungrouped():
            async with asyncio.TaskGroup() as self._tasks:
                try:
                    yield
                finally:
                    await self.drain()

    async def drain(self) -> None:
        """Accept nothing new, and give active requests a few seconds."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        if self._loading is not None:
            self._loading.cancel()
        for waiting in list(self._waiting):
            waiting.close()
        if self._answering is not None:
            await self._answering.finish(_FINISH_SECONDS)

    async def _listen(self) -> Listener:
        host, first = self._settings.host, self._settings.port
        # A client that is configured for one port must not be led to another program's.
        usual = first == WEB_PORT and not self._exact
        ports = (*range(first, first + _PORTS), 0) if usual else (first,)
        for port in ports:
            try:
                sockets = await bound(host, port)
                listener = Listener(sockets, self._taken, self._is_full, _BUSY)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or port == ports[-1]:
                    raise _unheard(error, host, port) from None
            else:
                if port != first:
                    logger.info("web.port: {} is taken, so it is {}", first, port)
                return listener
        raise AssertionError("there is always a last port")

    def _is_full(self) -> bool:
        held = self._connecting + len(self._waiting)
        return held + (0 if self._answering is None else len(self._answering)) >= self._most

    def _taken(self, connection: socket.socket) -> None:
        if self._tasks is None:
            connection.close()
            return
        self._connecting += 1
        self._tasks.create_task(self._connected(connection), name="web: a connection")

    async def _connected(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            with boundary("a connection"), suppress(OSError):
                await loop.connect_accepted_socket(self._protocol, connection)
        finally:
            self._connecting -= 1

    def _protocol(self) -> asyncio.Protocol:
        return _Waiting(self) if self._answering is None else self._answering()

    def came(self, waiting: _Waiting) -> None:
        """A connection before anything is loaded; the first one starts the loading."""
        self._waiting.add(waiting)
        if self._loading is None and self._tasks is not None:
            self._loading = self._tasks.create_task(self._loaded(), name="web: loading")

    def left(self, waiting: _Waiting) -> None:
        """Such a connection has closed."""
        self._waiting.discard(waiting)

    async def _loaded(self) -> None:
        with boundary("loading the web server"):
            self._answering = await self._load()
        self._loading = None  # if that failed, the next connection tries again
        for waiting in list(self._waiting):
            if self._answering is None:
                waiting.close()
            else:
                waiting.hand_over(self._answering())
        self._waiting.clear()


class _Waiting(asyncio.Protocol):
    """A connection without a protocol yet. It is not read from; data that arrives anyway, and its
    end, are kept for the later protocol.

    Before Python 3.11.4 a transport that is paused during its creation reads nevertheless.
    """

    def __init__(self, server: WebServer) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.pause_reading()
        self._server.came(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._transport is not None:
            # The transport believes it is paused, so only a resumed one can be paused.
            self._transport.resume_reading()
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        self._ended = True
        return True  # the transport stays open, for the response

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.left(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def hand_over(self, protocol: asyncio.Protocol) -> None:
        """Hand the connection to that protocol, with the data received so far."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        if not self._ended:
            transport.resume_reading()
        if self._received:
            protocol.data_received(bytes(self._received))
        if self._ended and not protocol.eof_received():
            transport.close()


def room() -> int:
    """The most connections at once: half of the files that the process may have open."""
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
