"""Parses the responses of Anthropic's Messages API: bytes in, deltas and a Completion out.

Pure: no network and no clock. Based on
https://platform.claude.com/docs/en/build-with-claude/streaming.
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
from nanobot.providers.openai_chunk import StreamError, as_count, as_index, as_text
from nanobot.providers.openai_request import valid_arguments
from nanobot.text import clean

_FINISH: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_Deltas = list[TextDelta | ReasoningDelta]


class _Block:
    """One block of the answer while it is being received. `given` is its initial form, without the
    parts that grow.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.kind = as_text(given.get("type"))
        self.given = given
        self.text = GrowingText()
        self.thought = GrowingText()
        self.signature = as_text(given.get("signature"))
        self.arguments = GrowingText()
        self.citations: list[Any] = list(given.get("citations") or ())

    def whole(self) -> dict[str, Any]:
        """The block in the API's own form, in which it has to be sent back."""
        block = dict(self.given)
        if self.kind == "text":
            block["text"] = self.text.whole()
            if self.citations:
                block["citations"] = self.citations
        elif self.kind == "thinking":
            block |= {"thinking": self.thought.whole(), "signature": self.signature}
        elif text := self.arguments.whole():
            block["input"] = json.loads(valid_arguments(text))
        return {name: value for name, value in block.items() if value is not None}

    @property
    def blank(self) -> bool:
        """Whether it is an empty text, which the API sends but does not accept."""
        return self.kind == "text" and not self.text.whole().strip()

    @property
    def plain(self) -> bool:
        """Whether text and calls represent it completely."""
        return self.kind == "tool_use" or (self.kind == "text" and not self.citations)


class MessageReader:
    """See http_provider.AnswerParser. `label`: the model."""

    def __init__(self, label: str) -> None:
        self._label = label
        self.done = False
        self.begun = False
        self._events = JsonEvents()
        self._blocks: dict[int, _Block] = {}
        self._text = GrowingText()
        self._reasoning = GrowingText()
        self._stop_reason = ""
        self._usage: dict[str, Any] = {}

    @property
    def complete(self) -> bool:
        return bool(self._stop_reason) or self.done

    def feed(self, data: bytes) -> _Deltas:
        deltas: _Deltas = []
        for event in self._events.feed(data):
            self._take(event, deltas)
        return deltas

    def end(self) -> _Deltas:
        deltas: _Deltas = []
        for event in () if self.done else self._events.end():
            self._take(event, deltas)
        return deltas

    def completion(self) -> Completion:
        text, reasoning = self._text.whole(), self._reasoning.whole()
        calls = self._calls()
        native = self._native()
        if not text.strip() and not calls and reasoning:
            text, reasoning, native = reasoning, "", None
        finish = _FINISH.get(self._stop_reason, "stop")
        if calls and finish == "stop":
            finish = "tool_calls"
        elif finish == "tool_calls" and not calls:
            finish = "stop"
        return Completion(
            text=text,
            reasoning=reasoning,
            tool_calls=calls,
            finish_reason=finish,
            usage=_usage(self._usage),
            native=native,
        )

    def _take(self, event: Any, deltas: _Deltas) -> None:
        if not isinstance(event, dict):
            raise ModelProtocolError(f"no event of a message: {str(event)[:200]}")
        kind = event.get("type")
        if kind == "error" or (kind is None and "error" in event):
            raise StreamError(event.get("error") or "an error without a word")
        if not isinstance(kind, str):
            raise ModelProtocolError(f"no event of a message: {str(event)[:200]}")
        match kind:
            case "message_start":
                self._count(_table(event.get("message")).get("usage"))
            case "content_block_start":
                self._begin(
                    as_index(event.get("index")), _table(event.get("content_block")), deltas
                )
            case "content_block_delta":
                self._grow(as_index(event.get("index")), _table(event.get("delta")), deltas)
            case "message_delta":
                self._stop(_table(event.get("delta")))
                self._count(event.get("usage"))
            case "message_stop":
                self.done = True
            case "message":
                self._whole(event, deltas)
            case _:  # ping, content_block_stop, and future events
                pass

    def _whole(self, message: dict[str, Any], deltas: _Deltas) -> None:
        """An unstreamed answer, although a stream was requested."""
        for index, block in enumerate(message.get("content") or ()):
            self._begin(index, _table(block), deltas)
        self._count(message.get("usage"))
        self._stop(message)
        self.done = True

    def _begin(self, index: int | None, given: dict[str, Any], deltas: _Deltas) -> None:
        block = _Block(given)
        after_others = bool(self._blocks) and next(reversed(self._blocks.values())).kind != "text"
        if block.kind == "text" and after_others and self._text.whole():
            deltas.append(TextDelta(self._text.add("\n\n")))
        self._blocks[len(self._blocks) if index is None else index] = block
        self.begun = self.begun or block.kind != "text"
        self._add_text(block, as_text(given.get("text")), deltas)
        self._add_thought(block, as_text(given.get("thinking")), deltas)

    def _grow(self, index: int | None, delta: dict[str, Any], deltas: _Deltas) -> None:
        block = self._blocks.get(-1 if index is None else index)
        if block is None:
            raise ModelProtocolError(f"a piece of a block that has not begun: {str(delta)[:200]}")
        match delta.get("type"):
            case "text_delta":
                self._add_text(block, as_text(delta.get("text")), deltas)
            case "thinking_delta":
                self._add_thought(block, as_text(delta.get("thinking")), deltas)
            case "signature_delta":
                block.signature += as_text(delta.get("signature"))
            case "input_json_delta":
                block.arguments.add(as_text(delta.get("partial_json")))
            case "citations_delta":
                block.citations.append(delta.get("citation"))
            case _:
                pass

    def _add_text(self, block: _Block, piece: str, deltas: _Deltas) -> None:
        if text := block.text.add(piece):
            deltas.append(TextDelta(self._text.add(text)))
            self.begun = True

    def _add_thought(self, block: _Block, piece: str, deltas: _Deltas) -> None:
        if thought := block.thought.add(piece):
            deltas.append(ReasoningDelta(self._reasoning.add(thought)))

    def _stop(self, delta: dict[str, Any]) -> None:
        self._stop_reason = as_text(delta.get("stop_reason")) or self._stop_reason

    def _count(self, usage: Any) -> None:
        counted = usage if isinstance(usage, dict) else {}
        self._usage |= {name: value for name, value in counted.items() if value is not None}

    def _calls(self) -> tuple[ToolCall, ...]:
        calls: list[ToolCall] = []
        for block in self._blocks.values():
            if block.kind != "tool_use":
                continue
            given = block.given.get("input")
            arguments = block.arguments.whole().strip() or json.dumps(given or {})
            call_id = clean(as_text(block.given.get("id"))) or f"call_{len(calls)}"
            calls.append(ToolCall(call_id, as_text(block.given.get("name")), arguments))
        return tuple(calls)

    def _native(self) -> NativeAnswer | None:
        """The blocks for the next request; None if text and calls represent everything, or if the
        answer ends with only thoughts, which the API does not accept back.
        """
        blocks = [block for block in self._blocks.values() if not block.blank]
        if all(block.plain for block in blocks) or blocks[-1].kind.endswith("thinking"):
            return None
        content = json.dumps([block.whole() for block in blocks], separators=(",", ":"))
        return NativeAnswer(self._label, content)


def _usage(counted: dict[str, Any]) -> Usage | None:
    fresh, answer = as_count(counted.get("input_tokens")), as_count(counted.get("output_tokens"))
    if fresh is None and answer is None:
        return None
    read = as_count(counted.get("cache_read_input_tokens")) or 0
    written = as_count(counted.get("cache_creation_input_tokens")) or 0
    return Usage((fresh or 0) + read + written, answer or 0, read, written).clamped()


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
