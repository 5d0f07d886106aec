"""Calls to the Bot API (https://core.telegram.org/bots/api): raw JSON answers, exact failures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from nanobot.errors import (
    ChatGone,
    ChatMoved,
    DeliveryError,
    NotSent,
    OutcomeUnknown,
    Refused,
    ThreadGone,
)
from nanobot.text import pattern
from nanobot_channels.common.proxy_answers import answered_by_proxy
from nanobot_channels.telegram.http import AiohttpRequest, ApiRefusal, NothingSent
from nanobot_channels.telegram.library import Bot

_READ_SECONDS = 20.0
_WRITE_SECONDS = 20.0
_SEND_CONNECTIONS = 128

# Exceptions of PTB if a 2xx body is not in the Bot API's format: it reads it without checking.
MALFORMED = (KeyError, TypeError, AttributeError)

_CHAT_GONE = pattern(
    r"chat not found|not enough rights(?! to send (?!text))|have no rights to send a message"
    r"|need administrator rights|bot was kicked|bot is not a member"
    r"|user is deactivated|group chat was (?:upgraded|deactivated)"
    r"|chat_write_forbidden|chat_restricted|peer_id_invalid",
    re.IGNORECASE,
)
_LACKING = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
_NO_METHOD = pattern(
    r"method.{0,40}(?:not (?:found|supported|implemented)|unknown)|(?:unknown|unsupported) method",
    re.IGNORECASE,
)
_THREAD_GONE = pattern(r"message thread not found|topic_(?:closed|deleted)", re.IGNORECASE)


class BotApi:
    """One bot's connection to a Bot API server.

    Polling has its own session, so that it never waits for a connection behind sends.
    """

    def __init__(self, token: str, api_root: str) -> None:
        self._files = f"{api_root}/file/bot{token}/"
        self._polling = AiohttpRequest(api_root, 1, _READ_SECONDS)
        self._sending = AiohttpRequest(api_root, _SEND_CONNECTIONS, _READ_SECONDS)
        self._bot = Bot(
            token,
            base_url=f"{api_root}/bot",
            base_file_url=f"{api_root}/file/bot",
            request=self._sending,
            get_updates_request=self._polling,
        )

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        read_seconds: float = _READ_SECONDS,
        write_seconds: float = _WRITE_SECONDS,
    ) -> Any:
        """The `result` of a method, as JSON.

        `method` is in snake_case with capitals ("get_Updates"): do_api_request warns about names
        that Bot has too, but Bot's own methods parse the response and fail on unknown values.
        Raises ApiRefusal for an error status, NothingSent or NoAnswer for a failed connection, and
        another TelegramError or one of MALFORMED for a response that is not the Bot API's.
        """
        return await self._bot.do_api_request(
            method,
            api_kwargs=dict(params),
            read_timeout=read_seconds,
            write_timeout=write_seconds,
        )

    async def download(self, file_path: str, limit: int) -> bytes:
        """The content behind a `file_path` of getFile, at most `limit` bytes.

        Raises ApiRefusal, TooMuch, NothingSent or NoAnswer.
        """
        return await self._sending.download(self._files + quote(file_path), limit)

    async def close(self) -> None:
        await self._polling.shutdown()
        await self._sending.shutdown()


def lacks_method(error: ApiRefusal) -> bool:
    """Whether a server, emulator or proxy does not support the method; not all report this like
    Telegram.
    """
    return error.status in _LACKING or bool(_NO_METHOD.search(error.message))


def delivery_error(error: Exception) -> DeliveryError:
    """The meaning of a failed call for the message: not sent, refused, chat gone, or unknown."""
    if isinstance(error, ApiRefusal):
        return _refusal(error)
    if isinstance(error, NothingSent):
        return NotSent(f"no connection to Telegram: {error.message}")
    return OutcomeUnknown(f"no usable answer from Telegram: {error!r}")


def _bad_request(description: str) -> type[ChatGone | ThreadGone | Refused]:
    if _THREAD_GONE.search(description):
        return ThreadGone
    return ChatGone if _CHAT_GONE.search(description) else Refused


def _refusal(error: ApiRefusal) -> DeliveryError:
    text = f"Telegram: {error.message} ({error.status})"
    if not error.from_api:
        return answered_by_proxy(error.status, text)
    if error.new_chat is not None:
        return ChatMoved(f"{text}: the chat's new id is {error.new_chat}", str(error.new_chat))
    if error.status == HTTPStatus.FORBIDDEN:
        return ChatGone(text)
    if error.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}:
        return _bad_request(error.message)(text)
    if error.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}:
        return NotSent(f"{text}: the bot's token is not accepted")
    return NotSent(text, retry_after=error.retry_after)
