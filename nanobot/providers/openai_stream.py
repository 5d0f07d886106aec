"""What comes back from an OpenAI-compatible endpoint: bytes in, deltas and a Completion out.

Pure: no network and no clock. However the bytes are cut into pieces, the result is the same.
Field by field after https://platform.openai.com/docs/api-reference/chat-streaming, and wider
where real servers differ.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from nanobot.errors import ModelProtocolError
from nanobot.providers.base import (
    Completion,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)

_FINISH: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
}


class StreamError(Exception):
    """The server sent an error object where an answer belongs. `body` is that object."""

    def __init__(self, body: Any) -> None:
        super().__init__("the server sent an error object")
        self.body = body


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Piece(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Piece] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct):
    index: int | None = 0
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = 0


class _GroqExtension(msgspec.Struct):
    usage: _Usage | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    x_groq: _GroqExtension | None = None
    error: Any = None


class _Slot(msgspec.Struct):
    """One tool call while its fragments arrive."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""


_decoder = msgspec.json.Decoder(_Chunk, strict=False)


class AnswerReader:
    """Reads the body of one answer, streamed or not.

    `feed` takes bytes as they arrive and returns what they add. `done` is set once the server
    said that it is finished; `complete` once there is enough for a Completion, even if the
    connection breaks now. Raises StreamError for an error object and ModelProtocolError for what
    is neither an answer nor an error.
    """

    def __init__(self) -> None:
        self.done = False
        self._tail = b""
        self._plain: bool | None = None
        self._unfinished = b""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._slots: list[_Slot] = []
        self._finish: str | None = None
        self._usage: Usage | None = None

    @property
    def complete(self) -> bool:
        """Whether the answer is whole: the server said why it stopped, or that it is done."""
        return self._finish is not None or self.done

    def feed(self, data: bytes) -> list[TextDelta | ReasoningDelta]:
        """Take more bytes."""
        data = self._tail + data
        if self._plain is None:
            start = data.lstrip(b"\xef\xbb\xbf \r\n\t")
            if not start:
                self._tail = data
                return []
            self._plain = start[:1] in b"{[<"
            data = start
        if self._plain:
            self._tail = data
            return []
        *lines, self._tail = data.split(b"\n")
        deltas: list[TextDelta | ReasoningDelta] = []
        for line in lines:
            self._line(line, deltas)
        return deltas

    def end(self) -> list[TextDelta | ReasoningDelta]:
        """The body is over: read what is left. Plain JSON is read here."""
        deltas: list[TextDelta | ReasoningDelta] = []
        rest, self._tail = self._tail, b""
        if self._plain:
            chunk = self._chunk(rest.strip())
            if not chunk.choices and not chunk.error:
                if error := _error_object(json.loads(rest)):
                    raise StreamError(error)
                raise ModelProtocolError("the answer has no choices")
            self._take(chunk, deltas)
            self.done = True
        elif rest and not self.done:
            # A last line without its line end is whole if it parses, and cut off if it does not.
            try:
                self._line(rest, deltas)
                self._line(b"", deltas)
            except ModelProtocolError:
                return deltas
        return deltas

    def completion(self) -> Completion:
        """The answer. Only after `complete`."""
        text = "".join(self._text)
        reasoning = "".join(self._reasoning)
        calls = self._calls()
        if not text.strip() and not calls and reasoning:
            text, reasoning = reasoning, ""
        finish = _FINISH.get((self._finish or "stop").lower(), "stop")
        if calls and finish == "stop":
            finish = "tool_calls"
        elif finish == "tool_calls" and not calls:
            finish = "stop"
        return Completion(
            text=text,
            reasoning=reasoning,
            tool_calls=calls,
            finish_reason=finish,
            usage=self._usage,
        )

    def _line(self, line: bytes, deltas: list[TextDelta | ReasoningDelta]) -> None:
        line = line.rstrip(b"\r")
        if line.startswith(b"data:"):
            payload = line[5:].strip()
            if payload == b"[DONE]":
                self.done = True
            elif payload:
                self._payload(payload, deltas)
        elif not line and self._unfinished:
            # The event ended and its data is still no JSON: say so.
            self._take(self._chunk(self._unfinished), deltas)

    def _payload(self, payload: bytes, deltas: list[TextDelta | ReasoningDelta]) -> None:
        # Nearly every event is one line; the standard allows JSON spread over several, joined
        # by line ends. Some servers leave out the blank line between events, so a line that
        # parses is taken at once.
        if self._unfinished:
            payload = self._unfinished + b"\n" + payload
        try:
            chunk = _decoder.decode(payload)
        except msgspec.ValidationError:
            chunk = self._chunk(payload)
        except (msgspec.DecodeError, RecursionError):
            self._unfinished = payload
            return
        self._unfinished = b""
        self._take(chunk, deltas)

    def _chunk(self, payload: bytes) -> _Chunk:
        try:
            return _decoder.decode(payload)
        except (msgspec.DecodeError, RecursionError) as problem:
            try:
                loose = json.loads(payload)
                if error := _error_object(loose):
                    raise StreamError(error)
                # Half an emoji as an escape: valid for json, not for UTF-8.
                mended = json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace")
                return _decoder.decode(mended)
            except (ValueError, RecursionError):
                excerpt = payload[:200].decode("utf-8", "replace")
                raise ModelProtocolError(f"{problem}: {excerpt}") from None

    def _take(self, chunk: _Chunk, deltas: list[TextDelta | ReasoningDelta]) -> None:
        if chunk.error:
            raise StreamError(chunk.error)
        usage = chunk.usage or (chunk.x_groq.usage if chunk.x_groq else None)
        if usage is not None:
            self._usage = _usage(usage)
        for choice in chunk.choices or ():
            if not choice.index:
                self._choice(choice, deltas)

    def _choice(self, choice: _Choice, deltas: list[TextDelta | ReasoningDelta]) -> None:
        message = choice.delta or choice.message
        if message is not None:
            if thought := message.reasoning_content or message.reasoning:
                self._think(thought, deltas)
            if message.content or message.refusal:
                self._content(message, deltas)
            if message.tool_calls:
                for piece in message.tool_calls:
                    self._call_piece(piece)
            elif message.function_call is not None:
                self._call_piece(_CallPiece(index=0, function=message.function_call))
        if choice.finish_reason:
            if choice.finish_reason == "error":
                raise StreamError({"message": "the model stopped with an error"})
            self._finish = choice.finish_reason

    def _content(self, message: _Message, deltas: list[TextDelta | ReasoningDelta]) -> None:
        content = message.content or message.refusal or ""
        if not isinstance(content, str):
            content = "".join(piece.text or "" for piece in content if piece.type == "text")
        if content:
            self._text.append(content)
            deltas.append(TextDelta(content))

    def _think(self, thought: str, deltas: list[TextDelta | ReasoningDelta]) -> None:
        self._reasoning.append(thought)
        deltas.append(ReasoningDelta(thought))

    def _call_piece(self, piece: _CallPiece) -> None:
        function = piece.function or _Function()
        slot = self._slot(piece, function)
        slot.id = slot.id or piece.id or ""
        slot.name = slot.name or function.name or ""
        arguments = function.arguments
        if isinstance(arguments, dict):
            slot.arguments = msgspec.json.encode(arguments).decode()
        elif arguments:
            slot.arguments += arguments

    def _slot(self, piece: _CallPiece, function: _Function) -> _Slot:
        """The call this fragment belongs to.

        Servers disagree: some give no index, some index 0 to every parallel call, some repeat
        the id with each fragment, some give none. A new id with a name always begins a call.
        """
        for slot in reversed(self._slots):
            if piece.index is not None and slot.index != piece.index:
                continue
            other = bool(piece.id and slot.id and piece.id != slot.id and function.name)
            again = piece.index is None and not piece.id and bool(function.name and slot.name)
            if not other and not again:
                return slot
            break
        slot = _Slot(index=piece.index)
        self._slots.append(slot)
        return slot

    def _calls(self) -> tuple[ToolCall, ...]:
        seen: set[str] = set()
        calls: list[ToolCall] = []
        for number, slot in enumerate(self._slots):
            call_id = slot.id if slot.id and slot.id not in seen else f"call_{number}"
            seen.add(call_id)
            # A tool without parameters is often called with no text at all.
            calls.append(ToolCall(call_id, slot.name, slot.arguments.strip() or "{}"))
        return tuple(calls)


def _usage(usage: _Usage) -> Usage:
    details = usage.prompt_tokens_details
    cached = (details.cached_tokens if details else 0) or usage.prompt_cache_hit_tokens
    return Usage(
        prompt_tokens=usage.prompt_tokens or 0,
        completion_tokens=usage.completion_tokens or 0,
        cached_tokens=cached or 0,
    )


def _error_object(loose: Any) -> Any:
    """The error within an answer of another shape: a list around it, or no `error` key."""
    if isinstance(loose, list) and loose:
        loose = loose[0]
    if isinstance(loose, dict):
        if "error" in loose:
            return loose["error"]
        if loose.get("object") == "error" or "detail" in loose:
            return loose
    return None
