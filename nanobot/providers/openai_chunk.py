"""One chunk of an OpenAI-compatible answer: the fields that we rely on.

Strict about the parts of an answer (choices, text, tool calls, finish reason), lenient about the
rest: other fields, and those typed `Any`, may hold anything.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from nanobot.errors import ModelProtocolError
from nanobot.providers.base import Usage

PICTURE = "[a picture by the model, which is not shown here]"
"""Stands in an answer for a picture that is part of it."""
_PICTURES = {"image", "image_url", "output_image"}


class StreamError(Exception):
    """The server sent an error object instead of an answer. `body` is that object."""

    def __init__(self, body: Any) -> None:
        super().__init__("the server sent an error object")
        self.body = body


class Function(msgspec.Struct):
    """A fragment of a tool call."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class CallPiece(msgspec.Struct):
    """A fragment of a tool call, with the call it belongs to, if the server names it."""

    index: Any = None
    id: Any = None
    function: Function | None = None
    extra_content: Any = None


class Message(msgspec.Struct):
    """A choice's addition to the answer."""

    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    images: Any = None
    tool_calls: list[CallPiece | None] | None = None
    function_call: Function | None = None

    @property
    def text(self) -> str:
        """Its text, or the model's refusal."""
        content = self.content
        if isinstance(content, list):
            content = "".join(map(_text_of_part, content))
        if isinstance(self.images, list):  # OpenRouter
            content = "\n".join([*filter(None, [content]), *(PICTURE for _ in self.images)])
        return content or as_text(self.refusal)

    @property
    def thought(self) -> str:
        """Its reasoning, if it is plain text: in a field, or among the parts (Mistral)."""
        parts = self.content if isinstance(self.content, list) else ()
        inside = "".join(map(_thought_of_part, parts))
        return as_text(self.reasoning_content) or as_text(self.reasoning) or inside


class Choice(msgspec.Struct):
    """One of the answers; the first (or only) one has the index 0 or no index."""

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
        """The token counts in it; None if there are none."""
        usage = self.usage
        if not isinstance(usage, dict) and isinstance(self.x_groq, dict):
            usage = self.x_groq.get("usage")
        return usage_of(usage) if isinstance(usage, dict) else None


_decoder = msgspec.json.Decoder(Chunk)


def read_chunk(data: bytes) -> Chunk | None:
    """The chunk in the data of an event; None if it is not (yet) valid JSON.

    Deviations from JSON and UTF-8 that servers send are repaired: NaN, line ends within text, and
    broken characters. Half an emoji is returned as such. Raises StreamError for an error object,
    and ModelProtocolError for JSON that is not a chunk.
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
    """The error in an event of that name: its object, or its plain text."""
    text = data.decode("utf-8", "replace")
    try:
        loose = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _error_object(loose) or loose


def usage_of(usage: dict[str, Any]) -> Usage | None:
    """A server's token counts; None if neither is a number. Absurd numbers are clamped."""
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
    """Tokens written to the cache, in the fields of OpenRouter and litellm."""
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
    """The value if it is a whole number, in any notation."""
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def as_count(value: Any) -> int | None:
    """The value if it is a number, truncated to a whole one."""
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
    if isinstance(part, dict):
        kind = as_text(part.get("type"))
        part = PICTURE if kind in _PICTURES else part.get("text") if "text" in kind else ""
    return as_text(part)


def _thought_of_part(part: Any) -> str:
    inside = part.get("thinking") if isinstance(part, dict) else None
    return "".join(map(_text_of_part, inside)) if isinstance(inside, list) else as_text(inside)


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
    """The error in an answer of another shape: inside a list, or without an `error` key."""
    if isinstance(loose, list) and loose:
        loose = loose[0]
    if isinstance(loose, dict):
        if loose.get("error"):
            return loose["error"]
        if not loose.get("choices") and (loose.get("object") == "error" or "detail" in loose):
            return loose
    return None
