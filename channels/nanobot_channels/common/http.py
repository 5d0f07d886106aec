"""HTTP requests of the adapters: connections, and whether a failure happened too early to have had
an effect.
"""

from __future__ import annotations

from typing import Any

import aiohttp

from nanobot.system import proxy_for, trusted_authorities

# aiohttp raises these only while it opens a connection (TCPConnector.connect); the request is
# written after that. ServerDisconnectedError and ClientOSError come later and prove nothing.
BEFORE_WRITING = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
)
_PIECE = 1 << 16


class TooMuch(Exception):
    """The content is longer than the limit."""


def may_have_arrived(error: Exception) -> bool:
    """Whether bytes may have gone out before the error."""
    return not isinstance(error, BEFORE_WRITING)


async def read_at_most(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    """The content of a response. Raises TooMuch if there is more than the limit."""
    content = bytearray()
    if (answer.content_length or 0) <= limit:
        async for piece in answer.content.iter_chunked(_PIECE):
            content += piece
            if len(content) > limit:
                break
        else:
            return bytes(content)
    raise TooMuch(f"more than {limit} bytes")


class Connections:
    """The connections to one server, created on first use, inside the event loop. Proxies come from
    the environment, but are never used for loopback; cookies are not stored. `options` are
    aiohttp's.
    """

    def __init__(
        self,
        root: str,
        *,
        most: int = 100,
        kept_seconds: float = 15.0,
        **options: Any,
    ) -> None:
        self._root = root
        self._most = most
        self._kept_seconds = kept_seconds
        self._options = options
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._most,
                    keepalive_timeout=self._kept_seconds,
                    ssl=trusted_authorities(self._root),
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                # Once and here: aiohttp's trust_env reads them at every request, in a thread.
                proxy=proxy_for(self._root),
                **self._options,
            )
        return self._session

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
