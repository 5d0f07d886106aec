"""HTTP basics: errors as JSON, size limits for bodies, and no internals in responses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from nanobot.plugins.common.http.seats import Seats
from nanobot.plugins.common.translation import language_of
from nanobot.plugins.common.views.encoding import is_large, pieces
from nanobot.text import Sentence
from nanobot.texts import ENGLISH, translated

QUIET = {
    "Server": "nanobot",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response."""


OPENAI = "/v1/"
"""The path prefix of OpenAI's API, whose errors have a form of their own."""
_NAMED = re.compile(r"([a-z_]+): ")


class Problem(Exception):
    """A refused request. `message` is for the person behind the client."""

    def __init__(
        self, status: int, code: str, message: Sentence, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, dict[str, str | None]] = {"error": {"code": code, "message": message}}
        self.headers = headers or {}

    def for_path(self, path: str, language: str = ENGLISH) -> Mapping[str, Any]:
        """The body, in the form that clients of that path expect, and in a language."""
        detail = self.body["error"]
        said = {**detail, "message": translated(str(detail["message"]), language)}
        if not path.startswith(OPENAI):
            return {"error": said}
        named = _NAMED.match(str(detail["message"]))
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        param = named[1] if named and self.status == 400 else None
        return {"error": {**said, "type": kind, "param": param}}


def wanted(request: web.BaseRequest) -> str:
    """The language that a client asks for: it sends Accept-Language, as browsers do."""
    return language_of(request.headers.get("Accept-Language", ""))


def named_language(request: web.BaseRequest) -> str:
    """The same, but "" for a client that names none."""
    return wanted(request) if "Accept-Language" in request.headers else ""


def headers_of(request: web.Request) -> dict[str, str]:
    """Its headers by lower-case names; repeated ones as a list."""
    headers = request.headers
    return {name.lower(): ", ".join(headers.getall(name)) for name in headers}


def answer(status: int, body: Any, headers: Mapping[str, str] | None = None) -> web.Response:
    """A JSON response; a large one is encoded in pieces while it is sent."""
    return web.Response(
        status=status,
        body=pieces(body) if is_large(body) else msgspec.json.encode(body),
        headers={**QUIET, **(headers or {})},
        content_type="application/json",
    )


def failed() -> Problem:
    """The answer where something fails that should not: it reveals no internals."""
    text = "Something went wrong here; the log says what."
    return Problem(500, "internal", text, {"Connection": "close"})


async def body_of(request: web.BaseRequest, limit: int, seconds: float) -> bytes:
    """The unmodified bytes of a request. Raises Problem if there are more than `limit`, without
    reading further, and if they do not arrive within that time.
    """
    headers = request.headers
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        # Signatures cover the bytes as sent; and a small body could decompress to a huge one.
        raise Problem(415, "unsupported_encoding", "Send the body without Content-Encoding.")
    large = f"The body is larger than {limit:,} bytes."
    if (request.content_length or 0) > limit:
        raise Problem(413, "too_large", large)
    if headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while piece := await request.content.readany():
                body += piece
                if len(body) > limit:
                    raise Problem(413, "too_large", large)
    except TimeoutError:
        late = f"The body was not there within {seconds:g} s."
        raise Problem(408, "too_slow", late, {"Connection": "close"}) from None
    except web.RequestPayloadError:
        raise Problem(400, "bad_request", "The body is not what its head says.") from None
    return bytes(body)


async def asked_to_go_on(_: web.Request) -> None:
    """The code that reads the body answers an `Expect` header, after the guards."""


class Connection(RequestHandler):
    """One connection. Malformed requests get the same errors as all others."""

    __slots__ = ("_seats",)

    def __init__(self, manager: web.Server, seats: Seats, **options: Any) -> None:
        super().__init__(manager, **options)
        self._seats = seats

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._seats.take(self, self.force_close)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._seats.leave(self)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The response to a malformed request."""
        code, text = ("bad_request", "This is not valid HTTP.")
        if status >= 500:
            code, text = "internal", "Something went wrong here; the log says what."
        problem = Problem(status, code, text)
        response = answer(status, problem.body)
        response.force_close()
        return response
