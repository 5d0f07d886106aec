"""Parses the responses of Gemini's streamGenerateContent: bytes in, deltas and a Completion out.

Pure: no network and no clock. Each event is a GenerateContentResponse; based on
https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse.
"""

from __future__ import annotations

import json
from typing import Any

from nanobot.errors import ModelProtocolError
from nanobot.plugins.common.models.json_events import JsonEvents
from nanobot.providers.base import (
    Completion,
    FinishReason,
    NativeAnswer,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from nanobot.providers.growing_text import GrowingText
from nanobot.providers.openai_chunk import PICTURE, StreamError, as_count, as_text
from nanobot.text import clean

_FINISH: dict[str, FinishReason] = {
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "ESCALATION": "content_filter",
}
# The model's output was invalid to its own server: a retry usually helps.
_BROKEN = frozenset(
    ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "NO_IMAGE")
)
_Deltas = list[TextDelta | ReasoningDelta]


class ContentReader:
    """See http_provider.AnswerParser. `label`: the model."""

    def __init__(self, label: str) -> None:
        self._label = label
        self.done = False
        self.begun = False
        self._events = JsonEvents()
        self._text = GrowingText()
        self._reasoning = GrowingText()
        self._parts: list[dict[str, Any]] = []
        self._calls: list[ToolCall] = []
        self._finish = ""
        self._usage: Usage | None = None

    @property
    def complete(self) -> bool:
        return bool(self._finish)

    def feed(self, data: bytes) -> _Deltas:
        deltas: _Deltas = []
        for event in self._events.feed(data):
            self._take(event, deltas)
        return deltas

    def end(self) -> _Deltas:
        deltas: _Deltas = []
        for event in self._events.end():
            # Without `alt=sse` the response is a list of all events.
            for response in event if isinstance(event, list) else [event]:
                self._take(response, deltas)
        return deltas

    def completion(self) -> Completion:
        text, reasoning, native = self._text.whole(), self._reasoning.whole(), self._native()
        if not text.strip() and not self._calls and reasoning:
            text, reasoning, native = reasoning, "", None
        finish = _FINISH.get(self._finish, "stop")
        if self._calls and finish == "stop":
            finish = "tool_calls"
        return Completion(
            text=text,
            reasoning=reasoning,
            tool_calls=tuple(self._calls),
            finish_reason=finish,
            usage=self._usage,
            native=native,
        )

    def _take(self, response: Any, deltas: _Deltas) -> None:
        if isinstance(response, list) and response:  # an error may be inside a list
            response = response[0]
        if not isinstance(response, dict):
            raise ModelProtocolError(f"no generated content: {str(response)[:200]}")
        if error := response.get("error"):
            raise StreamError(error)
        self._count(response.get("usageMetadata"))
        candidates = response.get("candidates")
        if not candidates:
            self._blocked(response)
            return
        candidate = _table(candidates[0] if isinstance(candidates, list) else None)
        for part in _table(candidate.get("content")).get("parts") or ():
            self._part(_table(part), deltas)
        if finish := as_text(candidate.get("finishReason")):
            self._ended(finish, as_text(candidate.get("finishMessage")))

    def _blocked(self, response: dict[str, Any]) -> None:
        reason = as_text(_table(response.get("promptFeedback")).get("blockReason"))
        if reason:
            raise StreamError({"code": 400, "message": f"the prompt was blocked: {reason}"})
        if "usageMetadata" not in response:
            raise ModelProtocolError(f"no generated content: {str(response)[:200]}")

    def _part(self, part: dict[str, Any], deltas: _Deltas) -> None:
        if as_text(_table(part.get("inlineData")).get("mimeType")).startswith("image/"):
            # Nothing here shows it, and megabytes of it would be sent back with each request.
            part = {"text": f"{PICTURE}\n"}
        text = as_text(part.get("text"))
        if "functionCall" in part:
            self._call(_table(part["functionCall"]))
        elif part.get("thought"):
            if shown := self._reasoning.add(text):
                deltas.append(ReasoningDelta(shown))
        elif shown := self._text.add(text):
            deltas.append(TextDelta(shown))
        self.begun = self.begun or bool(text or self._calls)
        self._keep(part)

    def _keep(self, part: dict[str, Any]) -> None:
        """Consecutive texts of one kind become one part; a signed part stays unchanged."""
        last = self._parts[-1] if self._parts else {}
        if last.keys() == part.keys() and part.keys() <= {"text", "thought"}:
            last["text"] = as_text(last["text"]) + as_text(part["text"])
        else:
            self._parts.append(dict(part))

    def _call(self, call: dict[str, Any]) -> None:
        arguments = json.dumps(_table(call.get("args")), ensure_ascii=False)
        call_id = clean(as_text(call.get("id"))) or f"call_{len(self._calls)}"
        self._calls.append(ToolCall(call_id, as_text(call.get("name")), arguments))

    def _ended(self, finish: str, message: str) -> None:
        if finish in _BROKEN:
            raise ModelProtocolError(f"{finish}: {message or 'the call of a tool is broken'}")
        if finish == "MISSING_THOUGHT_SIGNATURE":
            raise StreamError({"code": 400, "message": f"{finish}: {message}"})
        self._finish = finish
        self.done = True

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        counts = {name: as_count(value) or 0 for name, value in usage.items()}
        self._usage = Usage(
            prompt_tokens=counts.get("promptTokenCount", 0)
            + counts.get("toolUsePromptTokenCount", 0),
            completion_tokens=counts.get("candidatesTokenCount", 0)
            + counts.get("thoughtsTokenCount", 0),
            cached_tokens=counts.get("cachedContentTokenCount", 0),
        ).clamped()

    def _native(self) -> NativeAnswer | None:
        """The parts for the next request, without thoughts, of which only the signatures matter;
        None if nothing is signed.
        """
        parts = [part for part in self._parts if not part.get("thought")]
        parts = [part for part in parts if part.keys() != {"text"} or part["text"]]
        if not any("thoughtSignature" in part for part in parts):
            return None
        return NativeAnswer(self._label, json.dumps(parts, separators=(",", ":")))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
