"""JSON APIs over HTTP with a bearer token, and the meaning of a failed call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import msgspec

from nanobot.errors import ChannelDown, Refused
from nanobot.ports import Clock
from nanobot_channels.common.http import Connections, TooMuch, may_have_arrived, read_at_most
from nanobot_channels.common.limits import Limits
from nanobot_channels.common.numbers import seconds
from nanobot_channels.common.platform_clock import PlatformClock
from nanobot_channels.common.token_watch import TokenWatch

Json: TypeAlias = dict[str, Any]

_TIMEOUT = aiohttp.ClientTimeout(total=20.0, connect=10.0)
_TRANSFER = aiohttp.ClientTimeout(total=300.0, connect=10.0, sock_read=60.0)
_ALL = "all"


class ApiRefusal(Exception):
    """The platform or a proxy refused the call. `code` is the platform's own error, None for a
    proxy's response.
    """

    def __init__(
        self, text: str, status: int, code: int | str | None, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{text} ({status if code is None else code})")
        self.status = status
        self.code = code
        self.retry_after = retry_after


class NoAnswer(Exception):
    """There was no usable response. `sent`: the request may have arrived."""

    def __init__(self, what: str, error: Exception, *, sent: bool) -> None:
        super().__init__(f"{what}: {type(error).__name__} {error}".rstrip())
        self.sent = sent


FAILED = (ApiRefusal, NoAnswer)

ErrorReader: TypeAlias = Callable[[int, Any], tuple[int | str, str] | None]
"""The platform's code and text in a response with that status and JSON; None if it is not an error,
or not in the platform's own format.
"""


class JsonApi:
    """Methods raise ApiRefusal or NoAnswer; none retries a call. After `busy` no call is made
    before the time that the platform named.
    """

    def __init__(
        self, platform: str, root: str, token: str, clock: Clock, read_error: ErrorReader
    ) -> None:
        self.root = root
        self.time = PlatformClock(clock)
        self.watch = TokenWatch()
        self._platform = platform
        self._token = token
        self._read_error = read_error
        self._connections = Connections(root)
        self._limits = Limits(clock)

    async def call(
        self,
        what: str,
        path: str,
        body: object = None,
        *,
        method: str = "",
        query: Mapping[str, str] | None = None,
        token: str = "",
    ) -> Any:
        """The JSON of the response. With a body it is a POST. `token`: to use instead of the usual
        one.
        """
        left = await self._limits.turn(_ALL)
        if left:
            raise ApiRefusal(f"{self._platform}, {what}: too many calls", 429, 429, left)
        headers = self.bearer(token)
        form = isinstance(body, aiohttp.FormData)
        data = body if form else None if body is None else msgspec.json.encode(body)
        if data is not None and not form:
            headers["Content-Type"] = "application/json"
        with self._answering(what):
            async with self.session().request(
                method or ("GET" if body is None else "POST"),
                f"{self.root}{path}",
                params=query,
                data=data,
                headers=headers,
                timeout=_TRANSFER if form else _TIMEOUT,
                allow_redirects=False,
            ) as answer:
                self.time.read_date(answer.headers.get("Date"))
                return self._read(what, answer, await answer.read())

    async def download(self, url: str, limit: int, *hosts: str) -> bytes:
        """A file of the platform, at its root or at one of the hosts (or their subdomains). Raises
        Refused for a file that can never be fetched, and ChannelDown.
        """
        if not self._trusts(url, hosts):
            raise Refused(f"{self._platform} names an address for the file that is not its own")
        try:
            with self._answering("download"):
                # Redirects are not followed: the token is for the platform only.
                async with self.session().get(
                    url, headers=self.bearer(), timeout=_TRANSFER, allow_redirects=False
                ) as answer:
                    if answer.status in {403, 404, 410}:
                        raise Refused(f"{self._platform} no longer has the file")
                    if answer.status != 200:
                        raise ChannelDown(f"{self._platform} does not give the file now")
                    return await read_at_most(answer, limit)
        except TooMuch as error:
            raise Refused(f"the file is larger than {limit} bytes") from error
        except NoAnswer as error:
            raise ChannelDown(str(error)) from error

    def session(self) -> aiohttp.ClientSession:
        return self._connections.session()

    def bearer(self, token: str = "") -> dict[str, str]:
        return {"Authorization": f"Bearer {token or self._token}"}

    def busy(self, seconds: float | None) -> None:
        """The platform demands a pause of this many seconds."""
        self._limits.close(_ALL, seconds)

    async def close(self) -> None:
        await self._connections.close()

    def _trusts(self, url: str, hosts: tuple[str, ...]) -> bool:
        """Whether the token may be sent to this URL."""
        try:
            parts, root = urlsplit(url), urlsplit(self.root)
            host = parts.hostname or ""
        except ValueError:
            return False
        if (parts.scheme, parts.netloc) == (root.scheme, root.netloc):
            return True
        return parts.scheme == "https" and any(
            host == own or host.endswith(f".{own}") for own in hosts
        )

    @contextmanager
    def _answering(self, what: str) -> Iterator[None]:
        """Convert exceptions raised inside to NoAnswer."""
        try:
            yield
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            sent = may_have_arrived(error)
            raise NoAnswer(f"{self._platform}, {what}", error, sent=sent) from error

    def _read(self, what: str, answer: aiohttp.ClientResponse, body: bytes) -> Any:
        read: Any = None
        try:
            read = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            if answer.status < 300:
                raise ValueError("the answer is not JSON") from None
        error = self._read_error(answer.status, read)
        if error is None and answer.status < 300:
            return read
        code, text = error or (None, "no usable answer")
        after = seconds(answer.headers.get("Retry-After"))
        if after is None and answer.status == 429:
            after = seconds(answer.headers.get("X-RateLimit-Reset"))
        text = f"{self._platform}, {what}: {text[:300]}"
        if answer.status == 401 and code is not None:
            self.watch.refused(ApiRefusal(text, answer.status, code, after))
        raise ApiRefusal(text, answer.status, code, after)
