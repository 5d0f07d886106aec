"""A collector of telemetry, and how it is reached: OTLP over HTTP."""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias
from urllib.parse import unquote

import aiohttp
import msgspec

from nanobot import __version__
from nanobot.errors import NanobotError
from nanobot.plugins.common.otlp import Value, content_type

Signal: TypeAlias = Literal["traces", "metrics"]

_DEFAULT = "http://127.0.0.1:4318"
_SECONDS = 10.0
_MOST_ANSWER = 65_536
_LONGEST_PAUSE = 3600.0
_AGAIN = frozenset({408, 429, 502, 503, 504})
"""Statuses after which the same request may be sent again (OTLP, "Failures")."""
_SERVICE_NAME, _SERVICE_VERSION = "service.name", "service.version"


class NotTaken(NanobotError):
    """The collector did not take what was sent. `pause`: how long it asks to be left alone, in
    seconds (None: it does not say); `useless`: it will not take it another time either, and
    `too_large`: perhaps in smaller pieces."""

    def __init__(
        self,
        why: str,
        *,
        pause: float | None = None,
        useless: bool = False,
        too_large: bool = False,
    ) -> None:
        super().__init__(why)
        self.pause = pause
        self.useless = useless
        self.too_large = too_large


class Collector(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how a signal is sent. `kind`: the content type."""

    url: str
    headers: Mapping[str, str]
    kind: str
    compressed: bool
    seconds: float
    resource: Mapping[str, Value]

    async def post(self, body: bytes) -> bytes:
        """Send an encoded request and return the collector's answer. Raises NotTaken."""
        headers = {**self.headers, "Content-Type": self.kind}
        if self.compressed:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        patience = aiohttp.ClientTimeout(total=self.seconds)
        try:
            async with (
                aiohttp.ClientSession(timeout=patience, trust_env=True) as session,
                session.post(self.url, data=body, headers=headers, allow_redirects=False) as answer,
            ):
                said = await answer.content.read(_MOST_ANSWER)
                self._check(answer.status, answer.headers.get("Retry-After", ""))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise NotTaken(f"{self.url}: {type(error).__name__} {error}".strip()) from error
        return said

    def _check(self, status: int, retry_after: str) -> None:
        if 200 <= status < 300:
            return
        why = f"{self.url} answers {status}"
        if status in _AGAIN:
            raise NotTaken(why, pause=_pause(retry_after))
        raise NotTaken(why, useless=status in (400, 413, 422), too_large=status == 413)


def collector(signal: Signal, endpoint: str, api_key: str, environ: Mapping[str, str]) -> Collector:
    """As the configuration says, and where that says nothing the standard variables."""

    def told(name: str) -> str:
        return environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_{name}", "") or environ.get(
            f"OTEL_EXPORTER_OTLP_{name}", ""
        )

    base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "") or _DEFAULT
    url = endpoint or environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "")
    headers = _pairs(told("HEADERS"))
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    timeout = told("TIMEOUT")
    return Collector(
        url=url or f"{base.rstrip('/')}/v1/{signal}",
        headers=headers,
        kind=content_type(told("PROTOCOL")),
        compressed=told("COMPRESSION") == "gzip",
        seconds=min(int(timeout), 600_000) / 1000 if timeout.isdigit() else _SECONDS,
        resource=_resource(environ),
    )


def _pause(retry_after: str) -> float | None:
    """The seconds that a header names, also as a date; None if it says nothing usable."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), _LONGEST_PAUSE)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), _LONGEST_PAUSE)


def switched_off(environ: Mapping[str, str]) -> bool:
    """Whether OTEL_SDK_DISABLED says so."""
    return environ.get("OTEL_SDK_DISABLED", "").lower() == "true"


def _resource(environ: Mapping[str, str]) -> dict[str, Value]:
    known = _pairs(environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    name = environ.get("OTEL_SERVICE_NAME", "") or known.get(_SERVICE_NAME, "nanobot")
    return {**known, _SERVICE_NAME: name, _SERVICE_VERSION: __version__}


def _pairs(text: str) -> dict[str, str]:
    """`a=1,b=2`, percent-encoded, as the variables are written."""
    parts = (item.partition("=") for item in text.split(","))
    return {key.strip(): unquote(value.strip()) for key, equals, value in parts if equals}
