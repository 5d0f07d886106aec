"""Translates the error responses of OpenAI-compatible endpoints: from status and body to an error.

The recognized texts were observed from OpenAI, OpenRouter, Anthropic, Gemini, Groq, Mistral,
DeepSeek, Ollama, vLLM and llama.cpp; if the status alone is clear, the text is only quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote

import msgspec

from nanobot.errors import (
    ContextOverflow,
    ModelError,
    ModelProtocolError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from nanobot.text import clean, pattern

_MAX_TEXT = 300
_SHORTEST_SECRET = 4
# Up to the last "@", because a password that is not escaped may contain one.
_CREDENTIALS = pattern(r"""://[^\s"'<>/]*@""")
_TRANSIENT = frozenset({408, 409, 425, 429})

_OVERFLOW = pattern(
    r"context_length_exceeded|exceed_context_size|context_window_exceeded|model_max_prompt_tokens"
    r"|maximum context length|context (?:length|window|size)"
    r"|prompt is too long|prompt too long|input is too long|input length and `?max_tokens"
    # Amazon says "too many tokens" also for a rate.
    r"|(?:too many|reduce the number of) (?:input |prompt )?tokens(?!,? (?:please wait|per ))"
    r"|maximum (?:prompt|model|input|allowed input) length|exceeded (?:the )?model token limit"
    r"|range of input length should be|prompt exceeds max|prompt ?超长|prompt.tokens too long"
    r"|input token count is \d+ but|`inputs` (?:tokens \+|must have less)|max message tokens"
    r"|input token count.{0,40}exceeds|tokens? (?:limit|count).{0,30}exceed"
    r"|reduce the length of the (?:messages|prompt)|string_above_max_length"
    r"|request too large for model|larger than the context|exceeds? the (?:model's )?context",
    re.IGNORECASE,
)
_QUOTA = pattern(
    r"insufficient_quota|insufficient[_ ](?:balance|credits?|funds)"
    r"|exceeded_current_quota_error|arrearage|余额不足"
    r"|billing_(?:hard_limit|not_active)|credit balance is too low|out of credits|payment required",
    re.IGNORECASE,
)
_RETRY_IN_BODY = pattern(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')
_STATUS_BY_WORD = (
    (pattern(r"rate.?limit|too many requests|resource_exhausted", re.IGNORECASE), 429),
    (pattern(r"authentication|invalid.?api.?key|unauthorized", re.IGNORECASE), 401),
    (pattern(r"permission|forbidden", re.IGNORECASE), 403),
    (pattern(r"not_found|model.{0,80}not found|does not exist", re.IGNORECASE), 404),
    (pattern(r"invalid_request|bad_request|does not support", re.IGNORECASE), 400),
)


class ProviderFailure(msgspec.Struct, frozen=True):
    """One failed attempt."""

    error: ModelError
    again: bool
    """A retry may help."""
    why: str
    retry_after: float | None = None
    """In seconds, if given."""
    status: int = 0
    """The HTTP status, 0 if there was none."""
    refused: bool = False
    """A retry hardly helps, because nothing listens there."""


class Speaker(msgspec.Struct, frozen=True):
    """The endpoint that failed, for messages; `api_key` is only used to remove it from them."""

    provider: str
    model: str
    api_base: str
    api_key: str = ""

    @property
    def address(self) -> str:
        """The URL of the request, without the name and password that it may contain."""
        return without_credentials(self.api_base)

    def clean(self, text: str) -> str:
        """The provider's own text on one line: trimmed, storable, without key and passwords."""
        if len(self.api_key) >= _SHORTEST_SECRET:
            text = text.replace(self.api_key, "[key]")
        for password in _passwords_in(self.api_base):
            text = text.replace(password, "[password]")
        text = " ".join(clean(without_credentials(text)).split())
        return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


def without_credentials(text: str) -> str:
    """The text, without the names and passwords in its URLs."""
    return _CREDENTIALS.sub("://[credentials]@", text)


def _passwords_in(url: str) -> tuple[str, ...]:
    """The password in a URL, in its escaped and unescaped forms."""
    _, _, written = url.partition("://")[2].rpartition("@")[0].partition(":")
    return tuple(p for p in (written, unquote(written)) if len(p) >= _SHORTEST_SECRET)


def failure_of_status(
    speaker: Speaker, status: int, headers: Mapping[str, str], body: bytes, now: float
) -> ProviderFailure:
    """The meaning of an HTTP answer other than 2xx. `now` is unix seconds, for dates in headers."""
    text = body.decode("utf-8", "replace")
    wait = retry_after(headers, now)
    if wait is None and (match := _RETRY_IN_BODY.search(text)):
        wait = float(match[1])
    return _judge(speaker, status, text, wait)


def failure_in_stream(speaker: Speaker, error: Any) -> ProviderFailure:
    """The meaning of an error object in an answer that began with 200."""
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    return _judge(speaker, _status_in(error, text), text, None)


def failure_of_protocol(speaker: Speaker, problem: str) -> ProviderFailure:
    """The response was neither an answer nor an error."""
    message = (
        f"{speaker.provider} sent something that is not a chat completion: "
        f"{speaker.clean(problem)}. Check providers.{speaker.provider}.api_base "
        f"({speaker.address})."
    )
    return ProviderFailure(
        ModelProtocolError(message), again=True, why="the answer could not be read"
    )


def failure_of_connection(
    speaker: Speaker, problem: str, *, again: bool = True, refused: bool = False
) -> ProviderFailure:
    """No connection, a broken one, or too long a silence."""
    message = (
        f"{speaker.provider} did not answer at {speaker.address}: {speaker.clean(problem)}. "
        f"Check the network and providers.{speaker.provider}.api_base."
    )
    why = speaker.clean(problem)
    return ProviderFailure(ModelUnreachable(message), again=again, why=why, refused=refused)


def failure_of_overflow(speaker: Speaker, text: str) -> ProviderFailure:
    """The prompt is too long, in the endpoint's own text."""
    message = f"The prompt does not fit {speaker.model}: {speaker.clean(own_words(text))}"
    return ProviderFailure(ContextOverflow(message), again=False, why="the prompt is too long")


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds to wait according to the headers, never negative; None if they say nothing.

    `retry-after-ms` is OpenAI's; `retry-after` is seconds or an HTTP date (RFC 9110, 10.2.3).
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - now
            except ValueError:
                continue
        if seconds == seconds:  # not NaN, which float() reads too
            return max(0.0, seconds)
    return None


def _judge(speaker: Speaker, status: int, text: str, wait: float | None) -> ProviderFailure:
    message = _say(speaker, status, text)
    told = f"{text} {own_words(text)}"  # the first names codes, the second has no escapes
    if _OVERFLOW.search(told) or status == 413:
        return failure_of_overflow(speaker, message)
    if status == 402 or _QUOTA.search(told):
        return _refused(
            f"{message} Add credit with {speaker.provider}, or set agent.model to another model.",
            status,
        )
    if status == 429:
        return ProviderFailure(
            ModelRateLimited(f"{message} Wait, or set agent.model to another model.", wait),
            again=True,
            why=f"{speaker.provider} asks to slow down (429)",
            retry_after=wait,
        )
    if status in _TRANSIENT or (status >= 500 and status != 501):
        return ProviderFailure(
            ModelUnreachable(f"{message} The trouble is on their side: try again later."),
            again=True,
            why=f"{speaker.provider} answered {status}",
            retry_after=wait,
        )
    return _refused(f"{message} {_remedy(speaker, status)}", status)


def _refused(message: str, status: int) -> ProviderFailure:
    return ProviderFailure(ModelRefused(message), again=False, why="refused", status=status)


def _say(speaker: Speaker, status: int, text: str) -> str:
    words = speaker.clean(own_words(text)) or "(no explanation)"
    return f"{speaker.provider} answered {status} for {speaker.model}: {words}"


def _remedy(speaker: Speaker, status: int) -> str:
    name = speaker.provider
    if status in (401, 403):
        return f"Check providers.{name}.api_key."
    if status == 404:
        return f"Check the model's name in agent.model and providers.{name}.api_base."
    if 300 <= status < 400:
        return f"The address has moved: set providers.{name}.api_base to the new one."
    return "Asking again will not help; set agent.model to another model, or report this."


def own_words(text: str) -> str:
    """The message in an error body of any shape; the body itself if there is none."""
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError):
        return re.sub(r"<[^>]*>", " ", text)
    if isinstance(body, list) and body:
        body = body[0]
    while isinstance(body, dict):
        inner = body.get("error") or body.get("message") or body.get("detail")
        if inner is None:
            return text
        body = inner
    return body if isinstance(body, str) else text


def _status_in(error: Any, text: str) -> int:
    """The HTTP status of an error object: its code if that is a status, otherwise derived from its
    text.
    """
    if isinstance(error, dict):
        for key in ("code", "status", "status_code"):
            value = str(error.get(key, ""))
            if value.isdecimal() and 400 <= int(value) <= 599:
                return int(value)
    for words, status in _STATUS_BY_WORD:
        if words.search(text):
            return status
    return 502
