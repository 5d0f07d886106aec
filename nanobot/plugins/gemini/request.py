"""Encodes a ModelRequest for Gemini's generateContent API.

The same request always gives the same bytes, and a longer conversation begins with those of the
shorter one, because Gemini caches such prefixes automatically. Based on
https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thinking.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

import msgspec

from nanobot.plugins.gemini.schema import gemini_schema
from nanobot.plugins.gemini.thinking import thinking_of
from nanobot.providers.base import ChatMessage, ImagePart, ModelRequest, Part, TextPart, ToolSpec
from nanobot.providers.openai_request import (
    Quirks,
    encoded,
    numbered,
    of_results,
    usable_name,
    valid_arguments,
)

# The documented signature for calls made by another model: these models require a signature with
# the first call of each answer.
_UNSIGNED = "skip_thought_signature_validator"
_SIGNING = re.compile(r"gemini-(?![12]\b|[12]\.)")
_FIRST_OF_NAME = re.compile(r"[^a-zA-Z_]")


class _Content(msgspec.Struct):
    role: str
    parts: list[dict[str, Any]] | msgspec.Raw


class _Conversation:
    """Collects the contents. The results of an answer's calls are one content, directly after it,
    with exactly one result per call.
    """

    def __init__(self, *, signing: bool) -> None:
        self.contents: list[_Content] = []
        self._signing = signing
        self._open: deque[tuple[str, str]] = deque()
        self._results: list[dict[str, Any]] = []
        self._images: list[ImagePart] = []

    def add(self, message: ChatMessage) -> None:
        if message.role == "tool":
            self._result(message)
            return
        self.close()
        if message.role == "assistant":
            self._answer(message)
        else:
            self._said(_parts(message.content))

    def close(self) -> None:
        """End the answer's results: calls without a result get one."""
        while self._open:
            self._answered(self._open.popleft()[1], "(no result)")
        if self._results:
            self.contents.append(_Content("user", self._results))
            self._results = []
        if self._images:
            self._said(_parts(of_results(self._images)))
            self._images = []

    def end(self) -> None:
        """Make the conversation begin and end with the user, as the API requires."""
        self.close()
        if not self.contents or self.contents[-1].role == "model":
            self._said([{"text": "(Continue.)"}])
        if self.contents[0].role == "model":
            self.contents.insert(0, _Content("user", [{"text": "(The assistant speaks first.)"}]))

    def _said(self, parts: list[dict[str, Any]]) -> None:
        self.contents.append(_Content("user", parts))

    def _answer(self, message: ChatMessage) -> None:
        self._open.extend((call.id, _name(call.name)) for call in message.tool_calls)
        if message.native:
            self.contents.append(_Content("model", msgspec.Raw(message.native.content.encode())))
            return
        parts = [part for part in _parts(message.content) if part != _EMPTY]
        for place, call in enumerate(message.tool_calls):
            arguments = msgspec.Raw(valid_arguments(call.arguments).encode())
            part: dict[str, Any] = {"functionCall": {"name": _name(call.name), "args": arguments}}
            if self._signing and place == 0:
                part["thoughtSignature"] = _UNSIGNED
            parts.append(part)
        if parts:
            self.contents.append(_Content("model", parts))

    def _result(self, message: ChatMessage) -> None:
        open_call = next((call for call in self._open if call[0] == message.tool_call_id), None)
        if open_call is None:  # a result without a call
            self.close()
            self._said([{"text": "(the result of a tool call)"}, *_parts(message.content)])
            return
        while self._open[0] != open_call:  # in the order of the calls
            self._answered(self._open.popleft()[1], "(no result)")
        self._open.popleft()
        result, images = numbered(message, len(self._images) + 1)
        self._images += images
        self._answered(open_call[1], str(result.content))

    def _answered(self, name: str, text: str) -> None:
        self._results.append({"functionResponse": {"name": name, "response": {"output": text}}})


def encode_contents(request: ModelRequest, quirks: Quirks) -> bytes:
    """The body of POST models/MODEL:streamGenerateContent. Invalid Unicode is repaired."""
    system = "\n\n".join(
        part["text"]
        for message in request.messages
        if message.role == "system"
        for part in _parts(message.content)
        if part.get("text") and part != _EMPTY
    )
    conversation = _Conversation(signing=bool(_SIGNING.match(request.model)))
    for message in request.messages:
        if message.role != "system":
            conversation.add(message)
    conversation.end()
    generation: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if not quirks.no_temperature:
        generation["temperature"] = request.temperature
    if not quirks.no_effort:
        generation |= thinking_of(request.effort, request.model)
    body: dict[str, Any] = {"contents": conversation.contents, "generationConfig": generation}
    if system:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools and not quirks.no_tools:
        body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
    return encoded(body)


_EMPTY = {"text": "(empty)"}


def _parts(content: str | tuple[Part, ...]) -> list[dict[str, Any]]:
    """The parts of a message: at least one, and no empty text, which the API rejects."""
    given = (TextPart(content),) if isinstance(content, str) else content
    parts = [_part(part) for part in given]
    return [part for part in parts if part.get("text", "-").strip()] or [_EMPTY]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    return {"inlineData": {"mimeType": part.mime, "data": part.data}}


def _name(name: str) -> str:
    """A function's name begins with a letter or an underscore."""
    plain = usable_name(name)
    return f"_{plain}"[:64] if _FIRST_OF_NAME.match(plain) else plain


def _tool(tool: ToolSpec) -> dict[str, Any]:
    declaration: dict[str, Any] = {
        "name": _name(tool.name),
        "description": tool.description or tool.name,
    }
    if (schema := gemini_schema(tool.parameters)) is not None:
        declaration["parameters"] = schema
    return declaration
