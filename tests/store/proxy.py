"""A TCP proxy between us and a PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit


class Proxy:
    """Between a client and the server; `silent`: it takes what comes and passes nothing on.
    `swallow`: of what follows these words of the client no answer comes back. `trips`: how often a
    client has spoken, at first or after an answer."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.silent = False
        self.swallow: bytes | None = None
        self.connections = 0
        self.trips = 0
        self._heard: asyncio.StreamReader | None = None
        self._clients: set[asyncio.StreamReader] = set()
        self._open: set[asyncio.StreamWriter] = set()
        self._none_open = asyncio.Event()

    def cut(self) -> None:
        """End all connections, in the middle of whatever goes over them."""
        for writer in list(self._open):
            writer.transport.abort()

    async def closed(self) -> None:
        """Wait until no connection is open."""
        if self._open:
            await self._none_open.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        begun_silent = self.silent
        try:
            there, back = await asyncio.open_unix_connection(self._path)
        except OSError:  # the server is away
            writer.transport.abort()
            return
        both = {writer, back}
        self._clients.add(reader)
        self._open |= both
        self._none_open.clear()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pass(reader, back, begun_silent))
                tasks.create_task(self._pass(there, writer, begun_silent))
        finally:
            self._open -= both
            self._clients.discard(reader)
            if not self._open:
                self._none_open.set()

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, silent: bool
    ) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                if source is not self._heard:
                    self._heard, self.trips = source, self.trips + (source in self._clients)
                if self.swallow is not None and self.swallow in data:
                    target.write(data)
                    self.silent = True
                if not self.silent and not silent:
                    target.write(data)
                    await target.drain()
        target.close()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[tuple[Proxy, str]]:
    parts = urlsplit(url)
    proxy = Proxy(f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.{parts.port or 5432}")
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield proxy, f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"
    finally:
        server.close()
