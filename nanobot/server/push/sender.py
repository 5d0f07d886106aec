"""Hands a message to the push service of a browser."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import msgspec
from loguru import logger
from yarl import URL

from nanobot.errors import NanobotError, ToolDenied
from nanobot.ports import Clock
from nanobot.server.push.message import MOST_BYTES, encrypted, signed
from nanobot.server.push.subscriptions import Subscriber, Subscriptions
from nanobot.tools.web.addresses import Addresses

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

_SEND_SECONDS = 20.0
_KEPT_SECONDS = 86_400
_TRIES = 3
_PAUSE_SECONDS = 2.0
_GONE = (404, 410)
_LATER = (429, 500, 502, 503, 504)


class PushSender:
    """Encrypts and sends. Addresses of push services come from browsers, so only those of the
    public internet are asked, and those that `addresses` permits besides. `subject`: whom a push
    service may turn to."""

    def __init__(
        self, subscriptions: Subscriptions, clock: Clock, addresses: Addresses, subject: str
    ) -> None:
        self.subscriptions = subscriptions
        self._clock = clock
        self._addresses = addresses
        self._subject = subject

    async def send(self, subscriber: Subscriber, payload: dict[str, Any], topic: str) -> None:
        import aiohttp  # noqa: PLC0415 - where somebody subscribed

        plain = msgspec.json.encode(payload)[:MOST_BYTES]
        for turn in range(_TRIES):
            try:
                body = await asyncio.to_thread(encrypted, plain, subscriber.keys)
                status = await self._post(subscriber.endpoint, body, topic)
            except (aiohttp.ClientError, TimeoutError, OSError, NanobotError, ValueError) as error:
                logger.warning("a notification could not be pushed: {}", type(error).__name__)
                status = 503 if isinstance(error, aiohttp.ClientError | TimeoutError) else 400
            if status in _GONE:
                self.subscriptions.drop(subscriber.endpoint)
            if status not in _LATER:
                return
            await self._clock.sleep(_PAUSE_SECONDS * (turn + 1))

    async def _post(self, endpoint: str, body: bytes, topic: str) -> int:
        """Raises ToolDenied for an address that is not of the public internet."""
        import aiohttp  # noqa: PLC0415

        key = await asyncio.to_thread(self.subscriptions.key)
        headers = {
            "Authorization": signed(endpoint, key, self._subject, self._clock.now()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(_KEPT_SECONDS),
            "Urgency": "high",
            "Topic": topic,
        }
        url = checked(endpoint, self._addresses)
        connector = aiohttp.TCPConnector(resolver=cast("AbstractResolver", self._addresses))
        patience = aiohttp.ClientTimeout(total=_SEND_SECONDS)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=patience) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            return answer.status


def checked(endpoint: str, addresses: Addresses) -> URL:
    """The URL of a push service. Raises ToolError or ToolDenied for one that is not asked."""
    url = addresses.check(endpoint)
    if url.scheme != "https" and not _is_loopback(url.host):
        raise ToolDenied("a push service is asked by https only")
    return url


def _is_loopback(host: str | None) -> bool:
    return host in ("127.0.0.1", "::1", "localhost")
