"""A sandbox's access to the network: an HTTP(S) proxy that connects only to the hosts on a list.

It answers on a socket that listens in the sandbox's network. Names are resolved here, each address
is checked like those of the web tools, and the connection goes to the checked address.
"""

from __future__ import annotations

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from nanobot.boundary import boundary
from nanobot.errors import ToolError
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.walls import NetworkAccess
from nanobot.plugins.shell.sandbox.hosts import HostList, entry_of
from nanobot.plugins.shell.sandbox.proxy_request import (
    MAX_HEAD_BYTES,
    ProxyRefusal,
    ProxyRequest,
    parse_request,
)
from nanobot.text import quoted

PORT = 3128
"""Its port on the sandbox's loopback."""
MAX_CONNECTIONS = 256
HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 15.0
_PIECE = 65_536
_MAX_NAMED = 20
_REASONS = {400: "Bad Request", 403: "Forbidden", 431: "Request Header Fields Too Large"}


def proxy_environment() -> dict[str, str]:
    """The environment that tells programs in the sandbox about the proxy. Their own local services
    stay reachable directly.
    """
    way = f"http://127.0.0.1:{PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    here = "localhost,127.0.0.1,::1"
    return (
        dict.fromkeys(names, way)
        | dict.fromkeys(map(str.lower, names), way)
        | {"NO_PROXY": here, "no_proxy": here, "NODE_USE_ENV_PROXY": "1"}
    )


class EgressProxy:
    """One sandbox's proxy. `refused`: the hosts to which it denied access, as entries of a list; at
    most 20.
    """

    def __init__(self, network: NetworkAccess, addresses: Addresses) -> None:
        self.refused: list[str] = []
        self._hosts = HostList(network.hosts)
        self._may_connect = network.open
        self._may_send = network.may_send
        self._addresses = addresses
        self._open = True
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        """Serve on that socket within this context; at the end the socket and every connection are
        closed.
        """
        server = await asyncio.start_server(self._accept, sock=listener, limit=MAX_HEAD_BYTES)
        try:
            yield
        finally:
            server.close()
            self._open = False
            for task in self._tasks:
                task.cancel()
            while self._tasks:
                await asyncio.wait(self._tasks)

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._tasks) >= MAX_CONNECTIONS or not self._open:
            writer.transport.abort()
            return
        self._tasks.add(task)
        try:
            with boundary("the proxy of a sandbox"), suppress(OSError):
                await self._serve(reader, writer)
        except asyncio.CancelledError:
            pass  # nothing awaits this task
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            request = await self._request(reader)
            if request is None:
                return
            outward = await self._connect(request)
        except ProxyRefusal as refusal:
            body = f"nanobot's sandbox: {refusal}\n".encode("utf-8", "replace")
            reason = _REASONS.get(refusal.status, "Bad Gateway")
            head = (
                f"HTTP/1.1 {refusal.status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await _finish(writer)
            return
        there, back = outward
        try:
            if request.tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                back.write(request.head)
            async with asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(_pump(reader, back, self._may_send), name="proxy: out")
                await _pump(there, writer)
                await _finish(writer)
                sending.cancel()  # the client's remaining data does not matter
        except* OSError:
            pass  # both ends notice it
        finally:
            back.transport.abort()

    async def _request(self, reader: StreamReader) -> ProxyRequest | None:
        """The client's request; None if it sends nothing. Raises ProxyRefusal."""
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                first = await reader.read(1)
                if not first:
                    return None
                # SOCKS, TLS: they would wait for a reply in their own protocol
                if not first.isalpha():
                    raise ProxyRefusal(400, "the request is not HTTP")
                head = first + await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise ProxyRefusal(431, "the request's head is too long") from None
        except asyncio.IncompleteReadError:
            raise ProxyRefusal(400, "the request is not HTTP") from None
        except TimeoutError:
            return None
        return parse_request(head, self._addresses)

    async def _connect(self, request: ProxyRequest) -> tuple[StreamReader, StreamWriter]:
        """A connection to an allowed destination. Raises ProxyRefusal."""
        host, port = request.host, request.port
        if not self._hosts.allows(host, port):
            entry = entry_of(host, port)
            if entry not in self.refused and len(self.refused) < _MAX_NAMED:
                self.refused.append(entry)
            raise ProxyRefusal(403, f"{quoted(entry)} is not among the hosts that may be reached")
        if self._may_connect is not None and not await self._may_connect():
            raise ProxyRefusal(403, "content from outside was read since this was started")
        if self._may_send is not None and not self._may_send():
            raise ProxyRefusal(403, "it has opened a file that holds content from outside")
        failure: OSError | None = None
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                for place in await self._addresses.resolve(host, port):
                    try:
                        return await asyncio.open_connection(
                            place["host"], port, family=place["family"], limit=_PIECE
                        )
                    except OSError as error:
                        failure = error
        except ToolError as error:
            raise ProxyRefusal(403, str(error)) from error
        except (OSError, UnicodeError) as error:  # a TimeoutError is one
            failure = error if isinstance(error, OSError) else OSError(str(error))
        why = str(failure or "no address") or "no answer"
        raise ProxyRefusal(502, f"{quoted(host)} cannot be reached: {why}")


async def _pump(
    source: StreamReader, target: StreamWriter, may_send: Callable[[], bool] | None = None
) -> None:
    """Copy until the source ends, then close the target for writing. Raises OSError if sending is
    denied.
    """
    while piece := await source.read(_PIECE):
        if may_send is not None and not may_send():
            raise ConnectionAbortedError
        target.write(piece)
        await target.drain()
    with suppress(OSError, NotImplementedError):
        target.write_eof()


async def _finish(writer: StreamWriter) -> None:
    """Send the remaining data, but do not wait for a peer that does not read."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(HEAD_SECONDS):
            writer.close()
            await writer.wait_closed()
