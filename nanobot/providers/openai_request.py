"""Encodes a ModelRequest for an OpenAI-compatible endpoint.

The same request always gives the same bytes, and a longer conversation begins with the bytes of the
shorter one, so that providers' caches hit. Field by field according to
https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

from nanobot.forgetting import forgettable
from nanobot.providers.base import (
    ChatMessage,
    Effort,
    ImagePart,
    ModelProfile,
    ModelRequest,
    NativeAnswer,
    Part,
    TextPart,
    ToolCall,
    ToolSpec,
)
from nanobot.seam.installed import Interface, provided

_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_NAME_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_ANY_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_REFUSES = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|not allowed|extra|unexpected"
    r"|only the default|deprecated",
    re.IGNORECASE,
)
_LEARNED = (
    (re.compile("max_completion_tokens"), "completion_tokens"),
    (re.compile("stream_options"), "no_stream_options"),
    (re.compile("temperature"), "no_temperature"),
    (re.compile(r"reasoning|thinking|effort|output_config", re.IGNORECASE), "no_effort"),
)
"""What an error text mentions, and the change from then on; the first match wins."""
_REFUSES_TOOLS = re.compile(
    r"does not support (?:tools|function)|support tool use|tool choice requires"
    r"|tools? (?:is|are) not supported",
    re.IGNORECASE,
)
_WANTS_THOUGHTS = re.compile(
    r"missing.{0,20}reasoning_content|reasoning_content.{0,60}(?:is missing|must be|is required)",
    re.IGNORECASE,
)
_CONVERSATIONS = 16


class _FunctionOut(msgspec.Struct):
    name: str
    arguments: str


class CallOut(msgspec.Struct):
    """A call, as it is sent."""

    id: str
    function: _FunctionOut
    type: Literal["function"] = "function"
    extra_content: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class MessageOut(msgspec.Struct, omit_defaults=True):
    """A message, as it is sent."""

    role: str
    content: str | list[dict[str, Any]] | None
    tool_calls: list[CallOut] | msgspec.UnsetType = msgspec.UNSET
    tool_call_id: str | msgspec.UnsetType = msgspec.UNSET
    reasoning_content: str | msgspec.UnsetType = msgspec.UNSET
    reasoning_details: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


class Quirks(msgspec.Struct, frozen=True):
    """The parameters that one endpoint is known to reject, learned from its own error texts."""

    completion_tokens: bool = False
    no_temperature: bool = False
    no_stream_options: bool = False
    no_tools: bool = False
    own_ids: bool = False
    """The ids of calls mean something to it and are echoed unchanged. For other endpoints, ids from
    another provider (after a change of models) are converted to a form that every endpoint
    accepts."""
    anthropic_cache: bool = False
    """It passes `cache_control` on to Anthropic's models."""
    no_effort: bool = False
    openrouter: bool = False
    """It accepts the effort in OpenRouter's format."""
    thoughts: bool = False
    """It wants its thoughts back, or an empty text where they are unknown."""

    @property
    def writing(self) -> tuple[bool, bool]:
        """Those that change how messages are written."""
        return self.own_ids, self.thoughts


class Additions:
    """What vendors add to this format; here nothing. Thoughts go with calls of tools, which plugins
    bring; so the plugin `models` knows them, on or off."""

    def native(
        self, label: str, reasoning: str, details: Sequence[Any], extras: Sequence[dict[str, Any]]
    ) -> NativeAnswer | None:
        """The thoughts behind an answer's calls. `extras`: the `extra_content` of each."""

    def add_thoughts(self, out: MessageOut, message: ChatMessage, quirks: Quirks) -> None:
        """Add the thoughts of an answer to it."""

    def mark(self, messages: Sequence[MessageOut], *, whole: bool) -> None:
        """Mark what Anthropic's cache should keep. `whole`: the request has tools."""


ADDITIONS: Interface[Callable[[], Additions]] = Interface("additions")


@cache
def additions() -> Additions:
    """The known ones."""
    return (provided(ADDITIONS) or Additions)()


class _Begun(NamedTuple):
    """The beginning of a request."""

    messages: tuple[ChatMessage, ...]
    writing: tuple[bool, bool]
    written: tuple[MessageOut, ...]

    def opens(self, messages: tuple[ChatMessage, ...], quirks: Quirks) -> bool:
        """Whether a request begins like this. Most of its messages are the same objects, or at
        least their texts."""
        same = messages[: len(self.messages)] == self.messages
        return same and self.writing == quirks.writing


class Written:
    """Parts of requests in the endpoint's format, for the next ones: the requests of a conversation
    begin alike, and the tools rarely change.
    """

    def __init__(self) -> None:
        self._begun: OrderedDict[int, _Begun] = forgettable(OrderedDict())
        self._tools: tuple[Sequence[ToolSpec], msgspec.Raw] = ((), msgspec.Raw(b"[]"))

    def messages(self, messages: tuple[ChatMessage, ...], quirks: Quirks) -> list[MessageOut]:
        """The messages in that format. They are kept up to the first with pictures: these are
        megabytes, and those of results are numbered and follow later.
        """
        # Not by the system prompt. A summary of what was said before is another object each time.
        conversation = hash(next(filter(_is_plain, messages[1:2]), None))
        begun = self._begun.pop(conversation, None)
        if begun is None or not begun.opens(messages, quirks):
            begun = _Begun((), quirks.writing, ())
        rest = messages[len(begun.messages) :]
        plain = tuple(itertools.takewhile(_is_plain, rest))
        written = (*begun.written, *[_message(message, quirks) for message in plain])
        known = begun.messages + plain
        self._begun[conversation] = _Begun(known, quirks.writing, written)
        if len(self._begun) > _CONVERSATIONS:
            self._begun.popitem(last=False)
        return [*written, *_messages(rest[len(plain) :], quirks)]

    def tools(self, tools: Sequence[ToolSpec]) -> msgspec.Raw:
        """The tools in that format. Raises UnicodeEncodeError."""
        kept, written = self._tools
        if kept is not tools:
            written = msgspec.Raw(msgspec.json.encode(_tools(tools), order="deterministic"))
            self._tools = tools, written
        return written


def encode_request(request: ModelRequest, quirks: Quirks, written: Written | None = None) -> bytes:
    """The body of POST /chat/completions. Invalid Unicode is repaired. `written`: what earlier
    requests contained.
    """
    kept = quirks.anthropic_cache and "claude" in request.model.lower()
    # Marked messages are not those of other requests.
    usual = Written() if kept or written is None else written
    messages = usual.messages(request.messages, quirks)
    if kept:
        additions().mark(messages, whole=bool(request.tools))
    body: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        "max_completion_tokens" if quirks.completion_tokens else "max_tokens": request.max_tokens,
        "messages": messages,
    }
    if not quirks.no_stream_options:
        body["stream_options"] = {"include_usage": True}
    if not quirks.no_temperature:
        body["temperature"] = request.temperature
    if not quirks.no_effort:
        body |= effort_fields(request.effort, openrouter=quirks.openrouter)
    if request.tools and not quirks.no_tools:
        try:
            body["tools"] = usual.tools(request.tools)
        except UnicodeEncodeError:
            body["tools"] = _tools(request.tools)
    return encoded(body)


def encoded(body: dict[str, Any]) -> bytes:
    """The body as JSON: the same bytes for the same body."""
    try:
        return msgspec.json.encode(body, order="deterministic")
    except UnicodeEncodeError:
        # Platforms deliver lone surrogates (half an emoji); json keeps them, UTF-8 cannot.
        whole = msgspec.to_builtins(body, builtin_types=(msgspec.Raw,))
        plain = json.dumps(whole, ensure_ascii=False, sort_keys=True, default=_parsed)
        return plain.encode("utf-8", "replace")


def _parsed(raw: msgspec.Raw) -> Any:
    return json.loads(bytes(raw))


def without(quirks: Quirks, profile: ModelProfile) -> Quirks:
    """The quirks, with those known of the model before the first call."""
    return quirks if profile.sampling else msgspec.structs.replace(quirks, no_temperature=True)


def usable_name(name: str) -> str:
    """A tool's name in a form that every endpoint accepts. A name that the model made up may
    contain characters that the endpoint rejects; that must not end the session.
    """
    return _NAME_REFUSED.sub("_", name)[:64] or "unknown"


def learned(quirks: Quirks, status: int, text: str, *, tools: bool) -> Quirks:
    """The quirks, extended by an error text that names a parameter we can do without."""
    if tools and status in (400, 404, 422) and _REFUSES_TOOLS.search(text):
        return msgspec.structs.replace(quirks, no_tools=True)
    if status in (400, 422) and not quirks.thoughts and _WANTS_THOUGHTS.search(text):
        return msgspec.structs.replace(quirks, thoughts=True)
    if status not in (400, 422) or not _REFUSES.search(text):
        return quirks
    for words, quirk in _LEARNED:
        if words.search(text):
            return msgspec.structs.replace(quirks, **{quirk: True})
    return quirks


def valid_arguments(text: str) -> str:
    """The text if it is a JSON object, else `{}`: some servers answer 400 to an invalid one."""
    try:
        _ANY_OBJECT.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return "{}"
    return text


def _is_plain(message: ChatMessage) -> bool:
    return isinstance(message.content, str)


def _messages(messages: Sequence[ChatMessage], quirks: Quirks) -> list[MessageOut]:
    """In this format only users may show images: images in tool results follow the results, in a
    user's message that numbers them.
    """
    encoded: list[MessageOut] = []
    shown: list[ImagePart] = []
    for message in messages:
        if message.role == "tool":
            result, images = numbered(message, len(shown) + 1)
            encoded.append(_message(result, quirks))
            shown += images
            continue
        if shown:
            encoded.append(MessageOut("user", [_part(part) for part in of_results(shown)]))
            shown = []
        encoded.append(_message(message, quirks))
    if shown:
        encoded.append(MessageOut("user", [_part(part) for part in of_results(shown)]))
    return encoded


def numbered(message: ChatMessage, first: int) -> tuple[ChatMessage, list[ImagePart]]:
    """A tool result with each image replaced by a number, and the images."""
    if isinstance(message.content, str):
        return message, []
    images = [part for part in message.content if isinstance(part, ImagePart)]
    numbers = itertools.count(first)
    texts = [
        part.text if isinstance(part, TextPart) else f"[image {next(numbers)}, shown below]"
        for part in message.content
    ]
    return msgspec.structs.replace(message, content="\n".join(texts)), images


def of_results(images: Sequence[ImagePart]) -> tuple[Part, ...]:
    """The images that `numbered` removed, each with its number, for a user's message."""
    parts: list[Part] = []
    for number, image in enumerate(images, 1):
        parts += [TextPart(f"[image {number} of the tool results above]"), image]
    return tuple(parts)


def _message(message: ChatMessage, quirks: Quirks) -> MessageOut:
    content: str | list[dict[str, Any]] = (
        message.content
        if isinstance(message.content, str)
        else _content(message.role, message.content)
    )
    if message.role == "tool":
        return MessageOut("tool", content, tool_call_id=usable_id(message.tool_call_id, quirks))
    if message.role != "assistant":
        return MessageOut(message.role, content)
    calls = [_call(call, quirks) for call in message.tool_calls]
    out = MessageOut(
        message.role, (content or None) if calls else content, tool_calls=calls or msgspec.UNSET
    )
    if message.native is not None or quirks.thoughts:
        additions().add_thoughts(out, message, quirks)
    return out


def _content(role: str, content: tuple[Part, ...]) -> str | list[dict[str, Any]]:
    if role == "user" and any(isinstance(part, ImagePart) for part in content):
        return [_part(part) for part in content]
    # Images in the model's and the system's messages are only mentioned.
    return "\n".join(part.text if isinstance(part, TextPart) else "[image]" for part in content)


def _part(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": f"data:{part.mime};base64,{part.data}"}}


def _call(call: ToolCall, quirks: Quirks) -> CallOut:
    function = _FunctionOut(usable_name(call.name), valid_arguments(call.arguments))
    return CallOut(usable_id(call.id, quirks), function)


def usable_id(call_id: str | None, quirks: Quirks) -> str:
    """The id of a call in a form that the endpoint accepts."""
    if not call_id:
        return "call_0"
    if quirks.own_ids or _ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": msgspec.structs.asdict(tool)} for tool in tools]


def effort_fields(effort: Effort, *, openrouter: bool = False) -> dict[str, Any]:
    """The fields for how long the model thinks."""
    if effort == "default":
        return {}
    return {"reasoning": {"effort": effort}} if openrouter else {"reasoning_effort": effort}
