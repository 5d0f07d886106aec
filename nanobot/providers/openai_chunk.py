"""One piece of an OpenAI-compatible answer: its shape, as far as we rely on it.

Strict about what an answer is made of (choices, text, tool calls, why it ended), lenient about
the rest: a field that is not in here, or is typed `Any`, may hold whatever a server likes.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from nanobot.errors import ModelProtocolError
from nanobot.providers.base import Usage


class StreamError(Exception):
    """The server sent an error object where an answer belongs. `body` is that object."""

    def __init__(self, body: Any) -> None:
        super().__init__("the server sent an error object")
        self.body = body


class Function(msgspec.Struct):
    """A fragment of a tool call."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class CallPiece(msgspec.Struct):
    """A fragment of a tool call, and which call it belongs to, if the server says so."""

    index: Any = None
    id: Any = None
    function: Function | None = None


class Message(msgspec.Struct):
    """What a choice adds to the answer."""

    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: list[CallPiece | None] | None = None
    function_call: Function | None = None

    @property
    def text(self) -> str:
        """Its text, or the model's refusal."""
        content = self.content
        if isinstance(content, list):
            content = "".join(map(_text_of_part, content))
        return content or as_text(self.refusal)

    @property
    def thought(self) -> str:
        """Its reasoning, where it is plain text."""
        return as_text(self.reasoning_content) or as_text(self.reasoning)


class Choice(msgspec.Struct):
    """One of the answers; the first (or only) one has the index 0 or none."""

    index: Any = 0
    delta: Message | None = None
    message: Message | None = None
    finish_reason: str | None = None


class Chunk(msgspec.Struct):
    """One event of the stream, or a whole answer."""

    choices: list[Choice | None] | None = None
    usage: Any = None
    x_groq: Any = None
    error: Any = None

    def counted(self) -> Usage | None:
        """The tokens it counts; None where it says nothing that could be counted."""
        usage = self.usage
        if not isinstance(usage, dict) and isinstance(self.x_groq, dict):
            usage = self.x_groq.get("usage")
        return usage_of(usage) if isinstance(usage, dict) else None


_decoder = msgspec.json.Decoder(Chunk)


def read_chunk(data: bytes) -> Chunk | None:
    """The chunk in the data of an event; None if it is no JSON (yet).

    What JSON or UTF-8 do not allow, but servers send, is mended: NaN, line ends within text, and
    broken characters. Half an emoji comes back as such. Raises StreamError for an error object, and
    ModelProtocolError for JSON that is no chunk.
    """
    try:
        chunk = _decoder.decode(data)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return _read_loosely(data)
    if chunk.error:
        raise StreamError(chunk.error)
    if not chunk.choices and chunk.usage is None:
        return _read_loosely(data)
    return chunk


def error_in(data: bytes) -> Any:
    """The error that an event named so carries: its object, or its text as it is."""
    text = data.decode("utf-8", "replace")
    try:
        loose = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _error_object(loose) or loose


def usage_of(usage: dict[str, Any]) -> Usage | None:
    """Tokens as a server counts them; None if neither number is one. Absurd numbers are clamped."""
    prompt, completion = (
        as_count(usage.get(f"{side}_tokens")) for side in ("prompt", "completion")
    )
    if prompt is None and completion is None:
        return None
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = as_count(details.get("cached_tokens"))
    cached = cached or as_count(usage.get("prompt_cache_hit_tokens")) or 0
    return Usage(prompt or 0, completion or 0, cached, _written(usage, details)).clamped()


def _written(usage: dict[str, Any], details: dict[str, Any]) -> int:
    """Tokens put into the cache, as OpenRouter and litellm count them."""
    told = (
        details.get("cache_write_tokens"),
        usage.get("cache_creation_input_tokens"),
        details.get("cache_creation_tokens"),
    )
    return next((count for count in map(as_count, told) if count), 0)


def as_text(value: Any) -> str:
    """The value if it is text."""
    return value if isinstance(value, str) else ""


def as_index(value: Any) -> int | None:
    """The value if it is a whole number, in whatever way it is written."""
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def as_count(value: Any) -> int | None:
    """The value if it is a number, without its fraction."""
    number = _number(value)
    return None if number is None else int(number)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float) else None


def _text_of_part(part: Any) -> str:
    if isinstance(part, dict) and part.get("type") == "text":
        part = part.get("text")
    return as_text(part)


def _read_loosely(data: bytes) -> Chunk | None:
    try:
        loose = json.loads(data.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    if error := _error_object(loose):
        raise StreamError(error)
    try:
        return msgspec.convert(loose or {}, Chunk)
    except (msgspec.ValidationError, RecursionError) as problem:
        excerpt = data[:200].decode("utf-8", "replace")
        raise ModelProtocolError(f"{problem}: {excerpt}") from None


def _error_object(loose: Any) -> Any:
    """The error within an answer of another shape: a list around it, or no `error` key."""
    if isinstance(loose, list) and loose:
        loose = loose[0]
    if isinstance(loose, dict):
        if loose.get("error"):
            return loose["error"]
        if not loose.get("choices") and (loose.get("object") == "error" or "detail" in loose):
            return loose
    return None
