"""Parses the responses of an OpenAI-compatible endpoint: bytes in, deltas and a Completion out.

Pure: no network and no clock. The result does not depend on how the bytes are cut into pieces.
Field by field according to https://platform.openai.com/docs/api-reference/chat-streaming, and more
lenient where real servers differ.
"""

from __future__ import annotations

import json
from typing import Any

from nanobot.errors import ModelProtocolError
from nanobot.providers.base import (
    Completion,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from nanobot.providers.event_lines import LineReader
from nanobot.providers.growing_text import GrowingText
from nanobot.providers.openai_chunk import (
    CallPiece,
    Choice,
    Chunk,
    Function,
    Message,
    StreamError,
    as_index,
    as_text,
    error_in,
    read_chunk,
)
from nanobot.providers.openai_request import additions
from nanobot.text import clean

_FINISH: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "repetition_truncation": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "refusal": "content_filter",
    "sensitive": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
}
# The answer was cut off on the server's side, or is invalid even to it: a retry usually helps.
_BROKEN = {
    "error",
    "abort",
    "network_error",
    "insufficient_system_resource",
    "malformed_function_call",
}


class _Slot:
    """One tool call while its fragments are being received."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = GrowingText()
        self.arguments = GrowingText()
        self.extra: dict[str, Any] = {}

    @property
    def is_call(self) -> bool:
        """Whether the call arrived."""
        return bool(self.name.whole() or self.arguments.whole())


class AnswerReader:
    """See AnswerParser; for an answer that is streamed, or whole. `label`: the model, to keep the
    signatures of its thoughts. `thoughts`: it wants the thoughts with its calls back, too.
    """

    def __init__(self, label: str = "", *, thoughts: bool = False) -> None:
        self._label = label
        self._thoughts = thoughts
        self._details: list[Any] = []
        self._signed = False
        self.done = False
        self.begun = False
        self._plain: bool | None = None
        self._document: list[bytes] = []
        self._lines = LineReader()
        self._event = b""
        self._data: list[bytes] = []
        self._text = GrowingText()
        self._reasoning = GrowingText()
        self._slots: list[_Slot] = []
        self._finish: str | None = None
        self._usage: Usage | None = None

    @property
    def complete(self) -> bool:
        """Whether the answer is complete: the server gave a finish reason, or said "done"."""
        return self._finish is not None or self.done

    def feed(self, data: bytes) -> list[TextDelta | ReasoningDelta]:
        if self._plain is None:
            data = data.lstrip(b"\xef\xbb\xbf \r\n\t")
            if not data:
                return []
            self._plain = data[:1] in b"{[<"
        if self._plain:
            self._document.append(data)
            return []
        deltas: list[TextDelta | ReasoningDelta] = []
        for line in self._lines.feed(data):
            self._line(line, deltas)
        return deltas

    def end(self) -> list[TextDelta | ReasoningDelta]:
        """The body has ended: parse the rest. Plain JSON is parsed here."""
        deltas: list[TextDelta | ReasoningDelta] = []
        if self._plain:
            chunk = self._chunk(b"".join(self._document).strip())
            if not chunk.choices:
                raise ModelProtocolError("the answer has no choices")
            self._take(chunk, deltas)
            self.done = True
        elif not self.done:
            # A last line without a line end is complete if it parses, and truncated otherwise.
            try:
                self._line(self._lines.rest(), deltas)
                self._line(b"", deltas)
            except ModelProtocolError:
                return deltas
        return deltas

    def completion(self) -> Completion:
        text = self._text.whole()
        reasoning = self._reasoning.whole()
        calls = self._calls()
        if not text.strip() and not calls and reasoning:
            text, reasoning = reasoning, ""
        finish = _FINISH.get(_reason(self._finish or "stop"), "stop")
        if calls and finish == "stop":
            finish = "tool_calls"
        elif finish == "tool_calls" and not calls:
            finish = "stop"
        native = None
        if calls and self._label and (self._thoughts or self._details or self._signed):
            wanted = reasoning if self._thoughts else ""
            extras = [slot.extra for slot in self._slots if slot.is_call]
            native = additions().native(self._label, wanted, self._details, extras)
        return Completion(
            text=text,
            reasoning=reasoning,
            tool_calls=calls,
            finish_reason=finish,
            usage=self._usage,
            native=native,
        )

    def _line(self, line: bytes, deltas: list[TextDelta | ReasoningDelta]) -> None:
        if line.startswith(b"data:"):
            self._data_line(line[5:].strip(), deltas)
        elif line.startswith(b"event:"):
            self._event = line[6:].strip()
        elif not line:
            self._event_ended(deltas)

    def _data_line(self, data: bytes, deltas: list[TextDelta | ReasoningDelta]) -> None:
        # Nearly every event is one line; the standard allows JSON spread over several, joined by
        # line ends. Some servers omit the blank line between events, so a first line that parses is
        # used at once.
        if data.startswith(b"[DONE]"):
            self._event_ended(deltas)
            self.done = True
        elif self._data or self._event == b"error":
            self._data.append(data)
        elif data:
            chunk = read_chunk(data)
            if chunk is None:
                self._data.append(data)
            else:
                self._take(chunk, deltas)

    def _event_ended(self, deltas: list[TextDelta | ReasoningDelta]) -> None:
        data, event = b"\n".join(self._data), self._event
        self._data, self._event = [], b""
        if event == b"error":
            raise StreamError(error_in(data) or "an error without a word")
        if data:
            self._take(self._chunk(data), deltas)

    def _chunk(self, data: bytes) -> Chunk:
        chunk = read_chunk(data)
        if chunk is None:
            raise ModelProtocolError(f"no JSON: {data[:200].decode('utf-8', 'replace')}")
        return chunk

    def _take(self, chunk: Chunk, deltas: list[TextDelta | ReasoningDelta]) -> None:
        self._usage = chunk.counted() or self._usage
        for choice in chunk.choices or ():
            if choice is not None and not as_index(choice.index):
                self._choice(choice, deltas)

    def _choice(self, choice: Choice, deltas: list[TextDelta | ReasoningDelta]) -> None:
        message = choice.delta or choice.message
        if message is not None:
            if thought := self._reasoning.add(message.thought):
                deltas.append(ReasoningDelta(thought))
            if text := self._text.add(message.text):
                deltas.append(TextDelta(text))
            self._calls_in(message)
            if isinstance(message.reasoning_details, list):
                self._details += message.reasoning_details
            self.begun = self.begun or bool(thought or text or self._slots)
        if choice.finish_reason:
            if _BROKEN & set(choice.finish_reason.lower().split(": ")):
                why = f"the model stopped with an error ({choice.finish_reason})"
                raise StreamError({"message": why})
            self._finish = choice.finish_reason

    def _calls_in(self, message: Message) -> None:
        if message.tool_calls:
            for piece in message.tool_calls:
                if piece is not None:
                    self._call_piece(piece)
        elif function := message.function_call:
            self._call_piece(CallPiece(index=0, function=function))

    def _call_piece(self, piece: CallPiece) -> None:
        function = piece.function or Function()
        call_id = clean(as_text(piece.id))
        name, arguments = function.name or "", function.arguments
        slot = self._slot(as_index(piece.index), call_id, name)
        slot.id = slot.id or call_id
        if isinstance(piece.extra_content, dict):
            slot.extra |= piece.extra_content
            self._signed = True
        # A name may arrive in fragments, but some servers repeat all of it with each fragment.
        if name != slot.name.whole():
            slot.name.add(name)
        if isinstance(arguments, dict):
            slot.arguments = GrowingText()
            arguments = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
        slot.arguments.add(arguments or "")

    def _slot(self, index: int | None, call_id: str, name: str) -> _Slot:
        """The call this fragment belongs to.

        Servers differ: some give no index, some index 0 to every parallel call, some repeat the id
        with each fragment, some give none. A new id with a name always begins a call.
        """
        for slot in reversed(self._slots):
            if index is not None and slot.index != index:
                continue
            other = bool(call_id and slot.id and call_id != slot.id and name)
            again = index is None and not call_id and bool(name and slot.name.whole())
            if not other and not again:
                return slot
            break
        slot = _Slot(index)
        self._slots.append(slot)
        return slot

    def _calls(self) -> tuple[ToolCall, ...]:
        seen: set[str] = set()
        calls: list[ToolCall] = []
        for number, slot in enumerate(self._slots):
            if not slot.is_call:
                continue
            call_id = slot.id if slot.id and slot.id not in seen else f"call_{number}"
            seen.add(call_id)
            # Models often call a tool without parameters with an empty text.
            arguments = slot.arguments.whole().strip() or "{}"
            calls.append(ToolCall(call_id, slot.name.whole(), arguments))
        return tuple(calls)


def _reason(finish: str) -> str:
    """The reason to finish, without details such as Google's `content_filter: OTHER`."""
    return finish.lower().partition(": ")[0]
