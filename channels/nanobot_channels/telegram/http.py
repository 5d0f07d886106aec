"""python-telegram-bot's requests over aiohttp, and the meaning of their failures.

PTB documents `telegram.request.BaseRequest` for this. Its own transport (httpx) uses four times the
processor time for a small call, and folds error statuses and broken connections into a few types.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from nanobot.text import pattern
from nanobot_channels.common.http import BEFORE_WRITING, Connections, read_at_most
from nanobot_channels.common.numbers import seconds
from nanobot_channels.common.shapes import string, table
from nanobot_channels.telegram.library import BaseRequest, NetworkError, RequestData, TelegramError

_CONNECT_SECONDS = 5.0
_POOL_SECONDS = 10.0
_WRITE_SECONDS = 20.0
_KEEPALIVE_SECONDS = 30.0
_DOWNLOAD_SECONDS = 300.0
_ERROR_BYTES = 4096
_FORM = {"content-type": "application/x-www-form-urlencoded"}
_NOT_GIVEN = BaseRequest.DEFAULT_NONE
_TOKEN = pattern(r"/bot[^/\s]+")
_CHAT = pattern(r"-?[0-9]{1,18}")


class NothingSent(NetworkError):
    """No byte of the request was sent."""


class NoAnswer(NetworkError):
    """The request was sent, at least in part, and there was no response."""


class ApiRefusal(TelegramError):
    """The response has an HTTP error status.

    `from_api`: it has the Bot API's format, so nothing was applied; otherwise it comes from a proxy
    in between, and only its status shows the meaning. `retry_after` is in seconds; `new_chat` is
    set if the chat continues under another id.
    """

    def __init__(self, status: int, payload: bytes) -> None:
        body = _error_body(payload)
        parameters = table(body.get("parameters"))
        super().__init__(string(body.get("description")) or f"HTTP status {status}")
        self.status = status
        self.from_api = body.get("ok") is False
        self.retry_after = seconds(parameters.get("retry_after"))
        self.new_chat = _chat_id(parameters.get("migrate_to_chat_id"))


def _error_body(payload: bytes) -> dict[str, Any]:
    """The fields, of which an odd one says nothing and costs no other."""
    try:
        return table(msgspec.json.decode(payload))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _chat_id(value: object) -> int | None:
    text = str(value)
    return int(text) if _CHAT.fullmatch(text) else None


class AiohttpRequest(BaseRequest):
    """Requests to one server through at most `connections`, opened at the first of them.

    `read_seconds` may pass without a byte of the response. Every request is sent once: aiohttp
    retries only idempotent methods when a kept connection turns out to be dead (RFC 9112, 9.3.1),
    and the Bot API is called with POST. Redirects are not followed: they count as error statuses.
    Raises NothingSent, NoAnswer or ApiRefusal, none of which shows the token.
    """

    def __init__(self, root: str, connections: int, read_seconds: float) -> None:
        self._connections = Connections(
            root,
            most=connections,
            kept_seconds=_KEEPALIVE_SECONDS,
            headers={"user-agent": BaseRequest.USER_AGENT},
        )
        self._read_seconds = read_seconds
        self._closed = False

    @property
    def read_timeout(self) -> float | None:
        """Seconds of silence after which a request is aborted."""
        return self._read_seconds

    async def initialize(self) -> None:
        """Allow requests again after `shutdown`; the first one opens the session."""
        self._closed = False

    async def shutdown(self) -> None:
        """Close every connection; requests after that fail as NothingSent."""
        self._closed = True
        await self._connections.close()

    async def do_request(  # noqa: PLR0913 - PTB's signature
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = _NOT_GIVEN,
        write_timeout: Any = _NOT_GIVEN,
        connect_timeout: Any = _NOT_GIVEN,
        pool_timeout: Any = _NOT_GIVEN,
    ) -> tuple[int, bytes]:
        """The status, always a 2xx, and the body."""
        timeouts = (read_timeout, write_timeout, connect_timeout, pool_timeout)
        usual = (self._read_seconds, _WRITE_SECONDS, _CONNECT_SECONDS, _POOL_SECONDS)
        patience = _patience(
            *(u if g is _NOT_GIVEN else g for g, u in zip(timeouts, usual, strict=True))
        )
        uploads = request_data is not None and request_data.contains_files
        body = _body(request_data) if request_data else None
        try:
            async with self._opened().request(
                method,
                url,
                data=body,
                headers=None if uploads else _FORM,
                timeout=patience,
                allow_redirects=False,
            ) as response:
                payload = await response.read()
        except BEFORE_WRITING as error:
            raise NothingSent(_words(error)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NoAnswer(_words(error)) from error
        if not 200 <= response.status <= 299:
            raise ApiRefusal(response.status, payload)
        return response.status, payload

    async def download(self, url: str, limit: int) -> bytes:
        """The content of a file, at most `limit` bytes; raises TooMuch if there is more."""
        patience = _patience(self._read_seconds, _DOWNLOAD_SECONDS, _CONNECT_SECONDS, _POOL_SECONDS)
        try:
            async with self._opened().get(
                URL(url, encoded=True), timeout=patience, allow_redirects=False
            ) as response:
                if response.status != HTTPStatus.OK:
                    raise ApiRefusal(response.status, await response.content.read(_ERROR_BYTES))
                return await read_at_most(response, limit)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NoAnswer(_words(error)) from error

    @staticmethod
    def parse_json_payload(payload: bytes) -> Any:
        """The body as JSON; lenient about its encoding, as PTB is. Raises TelegramError."""
        try:
            try:
                return msgspec.json.decode(payload)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            # PTB's own method would write the body and three tracebacks to the error stream.
            raise TelegramError("Invalid server response") from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._closed:
            raise NothingSent("the connection was closed")
        return self._connections.session()


def _body(data: RequestData) -> bytes | aiohttp.FormData:
    if not data.contains_files:
        return _form(data.json_parameters)
    # Names as they are: the Bot API does not decode what aiohttp would make of umlauts.
    form = aiohttp.FormData(quote_fields=False, default_to_multipart=True)
    for name, value in data.json_parameters.items():
        form.add_field(name, value)
    for name, (file, content, mime) in data.multipart_data.items():
        # A stream: bytes would be written in one go, and block the event loop.
        stream = io.BytesIO(content) if isinstance(content, bytes) else content
        form.add_field(name, stream, filename=file, content_type=mime)
    return form


def _form(parameters: Mapping[str, str]) -> bytes:
    """Like urllib.parse.urlencode, but in C: that takes half a millisecond for a long text."""
    return URL.build(query=parameters).raw_query_string.encode()


@lru_cache
def _patience(
    read: float | None, write: float | None, connect: float | None, pool: float | None
) -> aiohttp.ClientTimeout:
    """`total` only ends requests that no other limit ends: a stalled upload, or a trickle."""
    reach = pool + connect if pool is not None and connect is not None else None
    total = None
    if reach is not None and write is not None and read is not None:
        total = reach + write + 2 * read
    return aiohttp.ClientTimeout(
        total=total,
        connect=reach,
        sock_connect=connect,
        sock_read=read,
    )


def _words(error: BaseException) -> str:
    """The error text of aiohttp without the token, which is part of the URL."""
    return _TOKEN.sub("/bot[token]", f"{type(error).__name__}: {error}".rstrip(": "))
