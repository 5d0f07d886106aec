"""The collector that traces are sent to, and how it is reached."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import aiohttp
import msgspec

from nanobot import __version__
from nanobot.errors import NanobotError
from nanobot.plugins.traces import names
from nanobot.plugins.traces.otlp import complaint_in, content_type, encoded
from nanobot.plugins.traces.settings import TracesSettings
from nanobot.plugins.traces.span import Span, Value

_DEFAULT = "http://127.0.0.1:4318"
_SECONDS = 10.0
_MOST_ANSWER = 65_536
_LONGEST_PAUSE = 3600.0
_AGAIN = frozenset({408, 429, 502, 503, 504})
"""Statuses after which the same request may be sent again (OTLP, "Failures")."""


class NotTaken(NanobotError):
    """The collector did not take the spans. `pause`: how long it asks to be left alone, in seconds
    (None: it does not say); `useless`: it will not take them another time either."""

    def __init__(self, why: str, *, pause: float | None = None, useless: bool = False) -> None:
        super().__init__(why)
        self.pause = pause
        self.useless = useless


class Collector(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how traces are sent."""

    url: str
    headers: Mapping[str, str]
    kind: str
    compressed: bool
    seconds: float
    resource: Mapping[str, Value]

    async def take(self, spans: Sequence[Span]) -> str:
        """Send these; what the collector complains about though it took them. Raises NotTaken."""
        body = encoded(spans, self.resource, self.kind)
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
        return complaint_in(said, self.kind)

    def _check(self, status: int, retry_after: str) -> None:
        if 200 <= status < 300:
            return
        why = f"{self.url} answers {status}"
        if status in _AGAIN:
            known = retry_after.isdigit() and len(retry_after) < 7
            pause = min(float(retry_after), _LONGEST_PAUSE) if known else None
            raise NotTaken(why, pause=pause)
        raise NotTaken(why, useless=status in (400, 413, 422))


def collector(settings: TracesSettings, environ: Mapping[str, str]) -> Collector:
    """As the configuration says, and where that says nothing the standard variables."""

    def told(name: str) -> str:
        return environ.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}", "") or environ.get(
            f"OTEL_EXPORTER_OTLP_{name}", ""
        )

    base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "") or _DEFAULT
    url = settings.endpoint or environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
    headers = _pairs(told("HEADERS"))
    if settings.api_key:
        headers["Authorization"] = f"Bearer {settings.api_key}"
    timeout = told("TIMEOUT")
    return Collector(
        url=url or f"{base.rstrip('/')}/v1/traces",
        headers=headers,
        kind=content_type(told("PROTOCOL")),
        compressed=told("COMPRESSION") == "gzip",
        seconds=min(int(timeout), 600_000) / 1000 if timeout.isdigit() else _SECONDS,
        resource=_resource(environ),
    )


def _resource(environ: Mapping[str, str]) -> dict[str, Value]:
    known = _pairs(environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    name = environ.get("OTEL_SERVICE_NAME", "") or known.get(names.SERVICE_NAME, "nanobot")
    return {**known, names.SERVICE_NAME: name, names.SERVICE_VERSION: __version__}


def _pairs(text: str) -> dict[str, str]:
    """`a=1,b=2`, percent-encoded, as the variables are written."""
    parts = (item.partition("=") for item in text.split(","))
    return {key.strip(): unquote(value.strip()) for key, equals, value in parts if equals}
