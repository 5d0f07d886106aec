"""Translates litellm's exceptions into a Failure.

litellm wraps an endpoint's answer in several exceptions, and each layer loses something: statuses
change (529 and 413 become 500 and 400), error codes disappear from texts, and a broken connection
and an unreadable answer both become "APIConnectionError, 500". So the whole chain is read, and the
innermost fact counts: the endpoint's own status, headers and text, as the lean client would see
them.

Classes are recognized by name, because this module must not import litellm.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nanobot.errors import ModelMissing
from nanobot.providers.openai_errors import (
    ProviderFailure,
    Speaker,
    failure_in_stream,
    failure_of_connection,
    failure_of_overflow,
    failure_of_protocol,
    failure_of_status,
)

_DEPTH = 12
_PREFIX = re.compile(
    r"^(?:litellm\.)?[A-Za-z]+(?:Error|Exception)?(?: [A-Za-z]+Error)?(?::| -) |^litellm\.Timeout: "
)
_BYTES = re.compile(r"^b(['\"])(.*)\1")
_TAIL = re.compile(
    r"\.? (?:Handle with `litellm|Original exception:|LiteLLM Retried).*$", re.DOTALL
)

_OVERFLOW = "ContextWindowExceededError"
_CONNECTION = frozenset({"TransportError", "ConnectError", "OSError", "ClientConnectionError"})
_UNREADABLE = frozenset({"JSONDecodeError", "ValidationError", "TypeError", "KeyError"})
_SILENT = frozenset({"TimeoutException", "APITimeoutError", "TimeoutError"})


def failure_of(speaker: Speaker, problem: BaseException, now: float) -> ProviderFailure:
    """The meaning of an exception raised by a call. `now` is unix seconds, for dates in headers."""
    chain = list(_chain(problem))
    kinds = {kind.__name__ for link in chain for kind in type(link).__mro__}
    text = _text(chain)
    if "ImportError" in kinds:
        return _missing(speaker, next(link for link in chain if isinstance(link, ImportError)))
    if _OVERFLOW in kinds:
        return failure_of_overflow(speaker, text)
    status, headers = _answer(chain)
    if status:
        return failure_of_status(speaker, status, headers, text.encode("utf-8", "replace"), now)
    return _unanswered(speaker, chain, kinds, text)


def _unanswered(
    speaker: Speaker, chain: list[BaseException], kinds: set[str], text: str
) -> ProviderFailure:
    """The failure without an HTTP error status: the connection, or the data received over it."""
    if kinds & _CONNECTION:
        return failure_of_connection(speaker, _plain(str(chain[-1])) or "the connection broke")
    if kinds & _SILENT:
        return failure_of_connection(speaker, "no answer in time")
    if kinds & _UNREADABLE:
        return failure_of_protocol(speaker, text)
    # Here a status is litellm's interpretation of an error event, and 500 means unknown.
    for link in reversed(chain):
        status = getattr(link, "status_code", None)
        if isinstance(status, int) and 400 <= status <= 599 and status != 500:
            return failure_of_status(speaker, status, {}, text.encode("utf-8", "replace"), 0.0)
    return failure_in_stream(speaker, text)


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    """The exception and its causes, outermost first."""
    for _ in range(_DEPTH):
        if problem is None:
            return
        yield problem
        inner = getattr(problem, "original_exception", None)
        if not isinstance(inner, BaseException):
            inner = problem.__cause__ or problem.__context__
        problem = inner


def _answer(chain: list[BaseException]) -> tuple[int, Mapping[str, str]]:
    """Status and headers of the HTTP error response; 0 if there was none.

    Only the HTTP client's own exceptions have a real response: litellm invents responses.
    """
    for link in reversed(chain):
        kinds = {kind.__name__ for kind in type(link).__mro__}
        if kinds & {"HTTPStatusError", "ClientResponseError"} or (
            type(link).__module__.partition(".")[0] in ("openai", "botocore")
        ):
            response = getattr(link, "response", None)
            status = getattr(response, "status_code", None) or getattr(link, "status", None)
            if isinstance(status, int) and status >= 300:
                return status, dict(getattr(response, "headers", None) or {})
    return 0, {}


def _text(chain: list[BaseException]) -> str:
    """The endpoint's own error text, if it survived."""
    for link in chain:
        body = getattr(link, "body", None)
        if isinstance(body, dict | list):
            return json.dumps(body, ensure_ascii=False)
        if isinstance(body, str) and body:
            return body
    for link in reversed(chain):
        if type(link).__module__.startswith("litellm.llms") and not _is_of_http(link):
            return _plain(str(getattr(link, "message", "") or link))
    return _plain(str(chain[0]))


def _is_of_http(link: BaseException) -> bool:
    return "custom_httpx" in type(link).__module__


def _plain(text: str) -> str:
    text = _TAIL.sub("", text)
    while (shorter := _PREFIX.sub("", text)) != text:
        text = shorter
    text = text.strip()
    if match := _BYTES.match(text):
        text = match[2].encode("latin-1", "replace").decode("unicode_escape", "replace")
        return text.encode("latin-1", "replace").decode("utf-8", "replace")
    return text


def _missing(speaker: Speaker, problem: ImportError) -> ProviderFailure:
    words: Any = speaker.clean(str(problem))
    message = f"{speaker.provider} needs another Python package: {words}"
    return ProviderFailure(ModelMissing(message), again=False, why="a package is missing")
