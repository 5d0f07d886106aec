"""A server at a URL (streamable HTTP), with limits on its messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import httpx2

from nanobot.log_context import sent
from nanobot.plugins.mcp.connection_state import MAX_MESSAGE_BYTES, SECONDS, ConnectionState, Pace

_CONNECT_SECONDS = 30.0
# Servers may hold a stream of events open without sending anything.
_READ_SECONDS = 300.0
_SESSION, _MOST_SESSION = "mcp-session-id", 128


class TooMuch(httpx2.TransportError):
    """The server exceeds its limits."""


class _Bounded(httpx2.AsyncByteStream):
    """A response's body. A document is limited to MAX_MESSAGE_BYTES, and so is each event, which
    ends with an empty line.
    """

    def __init__(self, inner: httpx2.AsyncByteStream, pace: Pace, line: ConnectionState) -> None:
        self._inner = inner
        self._pace = pace
        self._line = line

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            plain = chunk.replace(b"\r", b"")
            ends = plain.count(b"\n\n")
            size = len(plain) - plain.rfind(b"\n\n") if ends else size + len(chunk)
            if size > MAX_MESSAGE_BYTES or len(chunk) > MAX_MESSAGE_BYTES:
                raise self._refused(f"it sent a message of more than {MAX_MESSAGE_BYTES:,} bytes")
            if ends and self._pace.flooded(ends):
                raise self._refused(f"it sent too many messages within {SECONDS:g} s")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _refused(self, why: str) -> TooMuch:
        self._line.end(why)
        return TooMuch(why)


class _Transport(httpx2.AsyncBaseTransport):
    def __init__(self, line: ConnectionState) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._pace = Pace()
        self._line = line

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers.update(sent())  # the package posts in the context of the caller
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise TooMuch("it compressed its answer, which was not asked for")
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise TooMuch("its answer cannot be read")
        if session := response.headers.get(_SESSION):
            self._line.session = session[:_MOST_SESSION]
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Bounded(response.stream, self._pace, self._line),
            extensions=response.extensions,
            request=request,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


def client(headers: Mapping[str, str], line: ConnectionState) -> httpx2.AsyncClient:
    """A client for one server, without the proxies and credentials of the environment."""
    return httpx2.AsyncClient(
        transport=_Transport(line),
        # Compression is not accepted, so a few bytes cannot unpack to gigabytes.
        headers={"accept-encoding": "identity", **headers},
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
        trust_env=False,
    )
