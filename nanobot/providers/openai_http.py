"""The lean client's session: aiohttp, with proxies and certificates from the environment."""

from __future__ import annotations

import io

import aiohttp

from nanobot.log_context import sent
from nanobot.providers.openai_errors import ProviderFailure, Speaker, failure_of_connection
from nanobot.system import proxy_for, trusted_authorities

_CONNECTIONS = 256
_KEEPALIVE_SECONDS = 30.0
_PIECE = 1_000_000
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")


class EndpointClient:
    """Requests to one base URL, or to paths under it. The session is opened with the first request,
    in the running loop.

    Redirects are not followed, so that credentials go nowhere else; cookies are not kept. aiohttp
    itself repeats only idempotent methods if a reused connection turns out to be dead, so a POST is
    sent once.
    """

    def __init__(self, url: str, headers: dict[str, str], connect_seconds: float) -> None:
        self._url = url
        self._headers = headers
        # The client itself limits the time between pieces.
        self._patience = aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds)
        self._proxy: str | None = None
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes, path: str = "") -> aiohttp.ClientResponse:
        """The response, when its head has arrived; raises aiohttp's errors."""
        # In pieces if it is large, as aiohttp recommends (it warns otherwise).
        data = io.BytesIO(body) if len(body) > _PIECE else body
        session = self._open()
        return await session.post(
            self._url + path, data=data, headers=sent(), allow_redirects=False, proxy=self._proxy
        )

    async def get(self, path: str = "") -> aiohttp.ClientResponse:
        """The response, when its head has arrived; raises aiohttp's errors."""
        return await self._open().get(self._url + path, allow_redirects=False, proxy=self._proxy)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Read once, here: aiohttp's trust_env reads them for every request, in a thread.
            self._proxy = proxy_for(self._url)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=_CONNECTIONS,
                    keepalive_timeout=_KEEPALIVE_SECONDS,
                    ssl=trusted_authorities(self._url),
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                timeout=self._patience,
            )
        return self._session

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def failure_of_line(speaker: Speaker, problem: Exception) -> ProviderFailure:
    """No answer, with the reason for a person who can fix it. A retry cannot help with a
    certificate error or a wrong address."""
    refused = _is_refused(problem)
    untrusted = isinstance(problem, aiohttp.ClientConnectorCertificateError)
    again = not untrusted and not _speaks_no_tls(problem)
    return failure_of_connection(speaker, _words(problem), again=again, refused=refused)


def _words(problem: Exception) -> str:
    if isinstance(problem, aiohttp.ClientConnectorCertificateError):
        reason = getattr(problem.certificate_error, "verify_message", "") or "unknown authority"
        return (
            f"its certificate is not trusted ({reason}); if you trust the authority that signs "
            f"certificates here, put its certificate into a file and set SSL_CERT_FILE to it"
        )
    if _speaks_no_tls(problem):
        return "it does not speak TLS there; write http:// instead of https://"
    if isinstance(problem, TimeoutError):
        return "no answer in time"
    if _is_refused(problem):
        return "nothing listens there (connection refused)"
    return str(problem) or "the connection broke"


def _is_refused(problem: Exception) -> bool:
    """Whether the machine is up but no program accepts connections there."""
    if not isinstance(problem, aiohttp.ClientConnectorError):
        return False
    return isinstance(problem.os_error, ConnectionRefusedError)


def _speaks_no_tls(problem: Exception) -> bool:
    if not isinstance(problem, aiohttp.ClientConnectorSSLError):
        return False
    return any(sign in str(problem.os_error) for sign in _NO_TLS)
