"""One webhook: turns the bytes of a request into a published prompt and a reply to the sender."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import parse_qs

import msgspec
from loguru import logger

from nanobot.errors import NanobotError
from nanobot.plugins.common.jobs.triggers import Publisher
from nanobot.plugins.hooks.deliveries import NamedDeliveries
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.signatures import Signed, Unsigned, verify
from nanobot.plugins.hooks.template import DEFAULT, WebhookDelivery, parse, render
from nanobot.ports import Clock
from nanobot.text import pattern

_FULL_SECONDS = 60
_TROUBLE_SECONDS = 10
_SAY_SECONDS = 60.0
_MOST_FIELDS = 100
_EVENT_CHARS = 120
_FORM = "application/x-www-form-urlencoded"
_JSON = pattern(r"(application|text)/([\w.-]+\+)?json")
_PRIVATE = pattern(r"authorization|cookie|signature|secret|token", re.IGNORECASE)


class WebhookReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to the sender. `body` is sent as JSON."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = {}


def refused(status: int, code: str, message: str, retry_after: float | None = None) -> WebhookReply:
    """A reply in the common format of errors."""
    headers = {} if retry_after is None else {"Retry-After": str(max(int(retry_after + 0.999), 1))}
    error = {"error": {"code": code, "message": message}}
    return WebhookReply(status=status, body=error, headers=headers)


NOBODY = refused(401, "unauthorized", "No such hook, or the request is not signed as it must be.")
"""The same reply for an unknown hook, so that names cannot be probed."""


class Webhook:
    """One entry of `[hooks]`. Raises ValueError for an invalid prompt."""

    def __init__(
        self,
        name: str,
        settings: HookSettings,
        publisher: Publisher,
        clock: Clock,
        named: NamedDeliveries | None = None,
    ) -> None:
        self._named = named or NamedDeliveries()
        self.name = name
        self.settings = settings
        self._publisher = publisher
        self._clock = clock
        self._prompt = parse(settings.prompt or DEFAULT)
        self._allowance = RequestAllowance(settings.per_minute, clock)
        self._say_at = 0.0

    async def take(self, headers: Mapping[str, str], body: bytes) -> WebhookReply:
        """Accept a delivery; `headers` have lower-case names. 202 means that it is durable."""
        try:
            signed = verify(self.settings, headers, body, self._clock.now())
        except Unsigned as why:
            self._say(f"refused: {why}")
            return NOBODY
        read = _read(headers, body)
        if isinstance(read, WebhookReply):
            return read
        delivery = WebhookDelivery(
            hook=self.name,
            event=_event(signed, headers, read.payload),
            payload=read.payload,
            headers={name: value for name, value in headers.items() if not _PRIVATE.search(name)},
        )
        if signed.style == "github" and delivery.event == "ping":
            return WebhookReply(status=200, body={"status": "pong"})
        if not self._is_for_us(delivery):
            return WebhookReply(status=200, body={"status": "ignored"})
        wait = self._allowance.take()
        if wait > 0:
            self._say(f"more than {self.settings.per_minute} deliveries a minute")
            return refused(429, "too_many", "Too many deliveries; try again later.", wait)
        return await self._published(delivery, signed)

    def _is_for_us(self, delivery: WebhookDelivery) -> bool:
        """Whether the hook subscribes to its event: by name, by name and action, or with a `*`."""
        names = {delivery.event}
        action = delivery.payload.get("action") if isinstance(delivery.payload, dict) else None
        if isinstance(action, str):
            names.add(f"{delivery.event}.{action}")
        patterns = self.settings.events
        return not patterns or any(fnmatchcase(name, glob) for glob in patterns for name in names)

    async def _published(self, delivery: WebhookDelivery, signed: Signed) -> WebhookReply:
        text = render(self._prompt, delivery, os.urandom(6).hex())
        try:
            if signed.named and await self._named.has(signed.named):
                return WebhookReply(status=200, body={"status": "known"})
            taken = await self._publisher.publish(text, key=signed.key)
            if signed.named and taken == "taken":
                await self._named.add(signed.named)
        except NanobotError as error:
            logger.error("hook {}: a delivery could not be kept: {}", self.name, error)
            message = "It could not be kept; deliver it again."
            return refused(503, "unavailable", message, _TROUBLE_SECONDS)
        if taken == "full":
            self._say("too many deliveries wait already")
            return refused(429, "full", "Too much waits already; try again later.", _FULL_SECONDS)
        if taken == "known":
            return WebhookReply(status=200, body={"status": "known"})
        return WebhookReply(status=202, body={"status": "accepted"})

    def _say(self, what: str) -> None:
        """Write to the log at a limited rate: a sender of garbage must not fill the disk."""
        now = self._clock.monotonic()
        if now >= self._say_at:
            self._say_at = now + _SAY_SECONDS
            logger.warning("hook {}: {}", self.name, what)


class RequestAllowance:
    """The rate limit: requests per minute, and requests at once."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._most = float(per_minute)
        self._left = self._most
        self._clock = clock
        self._at = clock.monotonic()

    def take(self) -> float:
        """Take one; returns 0, or the seconds until one is available."""
        now, a_second = self._clock.monotonic(), self._most / 60
        self._left = min(self._left + (now - self._at) * a_second, self._most)
        self._at = now
        if self._left < 1:
            return (1 - self._left) / a_second
        self._left -= 1
        return 0.0


class Webhooks:
    """All hooks, by name."""

    about = "Takes a delivery that its sender signed with the secret of the hook."

    def __init__(self, hooks: Mapping[str, Webhook]) -> None:
        self._hooks = dict(hooks)
        self._decoy = HookSettings(secret=os.urandom(32).hex())

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def __iter__(self) -> Iterator[Webhook]:
        return iter(self._hooks.values())

    def get(self, name: str) -> Webhook | None:
        return self._hooks.get(name)

    def limit(self, name: str) -> int:
        """The largest body that is read for a hook, in bytes."""
        hook = self._hooks.get(name)
        return (self._decoy if hook is None else hook.settings).max_body

    async def take(self, name: str, headers: Mapping[str, str], body: bytes) -> WebhookReply:
        """Accept a delivery for a hook that may not exist; both cases take equally long."""
        hook = self._hooks.get(name)
        if hook is not None:
            return await hook.take(headers, body)
        with suppress(Unsigned):
            verify(self._decoy, headers, body, 0.0)
        return NOBODY


class _Payload(msgspec.Struct, frozen=True):
    payload: Any


def _read(headers: Mapping[str, str], body: bytes) -> _Payload | WebhookReply:
    """The JSON of a request."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _FORM:
        # GitHub's other content type: the JSON stands in a field.
        try:
            fields = parse_qs(body.decode("ascii"), max_num_fields=_MOST_FIELDS)
        except ValueError:
            fields = {}
        if "payload" not in fields:
            message = "A form needs a field `payload` with JSON; else send application/json."
            return refused(400, "bad_request", message)
        body = fields["payload"][0].encode("utf-8", "replace")
    elif not _JSON.fullmatch(kind):
        return refused(415, "unsupported_media_type", "Send JSON: Content-Type: application/json.")
    try:
        return _Payload(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return refused(400, "bad_request", "The body is not valid JSON.")


def _event(signed: Signed, headers: Mapping[str, str], payload: Any) -> str:
    """The sender's name for the kind of event; "" if there is none."""
    fields = payload if isinstance(payload, dict) else {}
    named = [fields.get("type"), fields.get("event")]
    if signed.style not in {"stripe", "standard"}:
        names = ("x-github-event", "x-gitea-event", "x-gitlab-event", "x-event")
        named = [*(headers.get(name) for name in names), *named]
    event = next((text for text in named if isinstance(text, str) and text), "")
    return event[:_EVENT_CHARS]
