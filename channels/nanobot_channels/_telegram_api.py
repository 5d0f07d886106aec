"""Calls to the Bot API (https://core.telegram.org/bots/api): raw JSON answers, exact failures."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec
from telegram import Bot
from telegram.error import TelegramError
from telegram.request import HTTPXRequest, RequestData

from nanobot.errors import ChatGone, DeliveryError, NotSent, OutcomeUnknown, Refused

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 20.0
_POOL_SECONDS = 10.0
_SEND_CONNECTIONS = 128
_KEEPALIVE_SECONDS = 30.0

# What PTB raises when a 2xx body is not what the Bot API promises: it reads it without checking.
MALFORMED = (KeyError, TypeError, AttributeError)

_NOTHING_WENT_OUT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_CHAT_GONE = re.compile(
    r"chat not found|not enough rights|have no rights|need administrator rights|bot was kicked"
    r"|user is deactivated|group chat was (?:upgraded|deactivated)|message thread not found"
    r"|chat_write_forbidden|chat_restricted|peer_id_invalid|topic_(?:closed|deleted)",
    re.IGNORECASE,
)


class ApiRefusal(TelegramError):
    """The server answered with an HTTP error status, so nothing was applied.

    `retry_after` is in seconds. Statuses and descriptions are those of the Bot API, or of
    whatever stands in between.
    """

    def __init__(self, status: int, payload: bytes) -> None:
        body = _error_body(payload)
        super().__init__(body.description or f"HTTP status {status}")
        self.status = status
        self.retry_after = body.parameters.retry_after


class _Parameters(msgspec.Struct):
    retry_after: float | None = None


class _ErrorBody(msgspec.Struct):
    description: str = ""
    parameters: _Parameters = msgspec.field(default_factory=_Parameters)


def _error_body(payload: bytes) -> _ErrorBody:
    try:
        return msgspec.json.decode(payload, type=_ErrorBody, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _ErrorBody()


class _Request(HTTPXRequest):
    """PTB's transport, but an error status keeps its number.

    PTB itself folds 5xx, 404 and connection errors into a few types, and its RetryAfter warns of
    its own deprecation each time it is made.
    """

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        *timeouts: Any,
        **named_timeouts: Any,
    ) -> tuple[int, bytes]:
        status, payload = await super().do_request(
            url, method, request_data, *timeouts, **named_timeouts
        )
        if not httpx.codes.is_success(status):
            raise ApiRefusal(status, payload)
        return status, payload


class BotApi:
    """One bot's connection to a Bot API server, with a pool for polling and one for the rest."""

    def __init__(self, token: str, api_root: str) -> None:
        # httpx logs every URL at INFO, httpcore at DEBUG, and here a URL contains the token.
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        tls = httpx.create_ssl_context()  # shared: loading the authorities takes 30 ms
        self._polling = _request(tls, connections=1)
        self._sending = _request(tls, connections=_SEND_CONNECTIONS)
        self._bot = Bot(
            token,
            base_url=f"{api_root}/bot",
            base_file_url=f"{api_root}/file/bot",
            request=self._sending,
            get_updates_request=self._polling,
        )

    async def call(
        self, method: str, params: Mapping[str, Any], *, read_seconds: float = _READ_SECONDS
    ) -> Any:
        """The `result` of a method, as JSON.

        `method` is in snake_case with capitals ("get_Updates"): do_api_request warns about names
        that Bot has too, but Bot's own methods parse the answer and fail on what they do not know.
        Raises ApiRefusal for an error status, another TelegramError for a failed connection, and
        one of MALFORMED for an answer that is not the Bot API's.
        """
        return await self._bot.do_api_request(
            method, api_kwargs=dict(params), read_timeout=read_seconds
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._polling.shutdown()
        await self._sending.shutdown()


def _request(tls: object, connections: int) -> _Request:
    limits = httpx.Limits(max_connections=connections, keepalive_expiry=_KEEPALIVE_SECONDS)
    return _Request(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        write_timeout=_READ_SECONDS,
        pool_timeout=_POOL_SECONDS,
        httpx_kwargs={"verify": tls, "limits": limits},
    )


def delivery_error(error: Exception) -> DeliveryError:
    """What a failed call means for the message: not sent, refused, chat gone, or unknown."""
    if isinstance(error, ApiRefusal):
        return _refusal(error)
    cause = error.__cause__
    if isinstance(cause, _NOTHING_WENT_OUT):
        return NotSent(f"no connection to Telegram: {type(cause).__name__}")
    return OutcomeUnknown(f"no usable answer from Telegram: {cause or error!r}")


def _refusal(error: ApiRefusal) -> DeliveryError:
    text = f"Telegram: {error.message} ({error.status})"
    if error.status == httpx.codes.FORBIDDEN:
        return ChatGone(text)
    if error.status == httpx.codes.BAD_REQUEST:
        return ChatGone(text) if _CHAT_GONE.search(error.message) else Refused(text)
    if error.status == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
        return Refused(text)
    if error.status in {httpx.codes.UNAUTHORIZED, httpx.codes.NOT_FOUND}:
        return NotSent(f"{text}: the bot's token is not accepted")
    return NotSent(text, retry_after=error.retry_after)
