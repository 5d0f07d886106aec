"""Hands a message to the push service of a browser (RFC 8030)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from loguru import logger
from yarl import URL

from nanobot.errors import NanobotError, StoreError, ToolDenied
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.page.push.message import MOST_BYTES, PushKeys, encrypted, signed
from nanobot.plugins.page.push.signing_key import SigningKey
from nanobot.plugins.page.store import PushSubscription
from nanobot.ports import Clock

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

_SEND_SECONDS = 20.0
_KEPT_SECONDS = 86_400
_GONE = (404, 410)
_TOO_MANY = 429
_SERVER_FAULT = 500
_REFUSED = 300


class Outcome(Enum):
    """The outcome of a message. REFUSED: it would be refused again. GONE: the push service no
    longer knows the subscription. LATER: it may be accepted later.
    """

    TAKEN = "taken"
    REFUSED = "refused"
    GONE = "gone"
    LATER = "later"


class Sent(NamedTuple):
    """An outcome; for LATER, with the seconds to wait that the push service requests."""

    outcome: Outcome
    wait: float = 0.0


class PushSender:
    """Encrypts and sends. Browsers supply the URLs of push services, so only hosts on the public
    internet are contacted, and those that `addresses` also permits. `subject`: the contact for a
    push service.
    """

    def __init__(self, key: SigningKey, clock: Clock, addresses: Addresses, subject: str) -> None:
        self._key = key
        self._clock = clock
        self._addresses = addresses
        self._subject = subject

    async def send(
        self, subscription: PushSubscription, payload: Mapping[str, Any], topic: str
    ) -> Sent:
        """Try once. Of several unfetched messages with one topic, a browser gets only the last.
        Raises StoreError.
        """
        import aiohttp  # noqa: PLC0415 - where somebody subscribed

        keys = PushKeys(p256dh=subscription.p256dh, auth=subscription.auth)
        try:
            body = await asyncio.to_thread(encrypted, fitting(payload), keys)
            headers = await self._headers(subscription.endpoint, topic)
            return await self._post(subscription.endpoint, body, headers)
        except StoreError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            logger.warning("a push service cannot be reached: {}", type(error).__name__)
            return Sent(Outcome.LATER)
        except (NanobotError, ValueError) as error:
            logger.warning("a notification cannot be pushed: {}", error)
            return Sent(Outcome.REFUSED)

    async def _headers(self, endpoint: str, topic: str) -> dict[str, str]:
        key, now = await self._key.get(), self._clock.now()
        return {
            "Authorization": signed(endpoint, key, self._subject, now),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(_KEPT_SECONDS),
            "Urgency": "high",
            "Topic": topic,
        }

    async def _post(self, endpoint: str, body: bytes, headers: dict[str, str]) -> Sent:
        """Raises ToolDenied for an address that is not on the public internet."""
        import aiohttp  # noqa: PLC0415

        from nanobot.providers.openai_errors import retry_after  # noqa: PLC0415 - for few

        url = checked(endpoint, self._addresses)
        connector = aiohttp.TCPConnector(resolver=cast("AbstractResolver", self._addresses))
        patience = aiohttp.ClientTimeout(total=_SEND_SECONDS)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=patience) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            if answer.status in _GONE:
                return Sent(Outcome.GONE)
            if answer.status == _TOO_MANY or answer.status >= _SERVER_FAULT:
                wait = retry_after(answer.headers, time.time())
                logger.info("a push service answers with {}: again later", answer.status)
                return Sent(Outcome.LATER, wait or 0.0)
            if answer.status >= _REFUSED:
                logger.warning("a push service refuses a notification: {}", answer.status)
                return Sent(Outcome.REFUSED)
            return Sent(Outcome.TAKEN)


def fitting(payload: Mapping[str, Any]) -> bytes:
    """As JSON of at most MOST_BYTES: the excess of a text is cut off, and a message that is still
    too long is left out.
    """
    plain = msgspec.json.encode(payload)
    given = dict(payload)
    while len(plain) > MOST_BYTES and given.get("text"):
        given["text"] = given["text"][: len(given["text"]) * 3 // 4]
        plain = msgspec.json.encode(given)
    return plain if len(plain) <= MOST_BYTES else msgspec.json.encode({"kind": payload["kind"]})


def checked(endpoint: str, addresses: Addresses) -> URL:
    """The URL of a push service. Raises ToolError or ToolDenied for one that must not be
    contacted.
    """
    url = addresses.check(endpoint)
    if url.scheme != "https" and not _is_loopback(url.host):
        raise ToolDenied("a push service is asked by https only")
    return url


def _is_loopback(host: str | None) -> bool:
    return host in ("127.0.0.1", "::1", "localhost")
