"""What was said, as attributes of spans: only where the configuration says so.

Secrets are removed before a text is shortened, so that no part of one is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from nanobot.plugins.common.otlp import Value
from nanobot.plugins.traces import names
from nanobot.session.entries import Entry, ReplyEntry, ToolResultEntry, UserEntry

MOST_TEXT = 4_096
"""The longest text, in characters."""
MOST_MESSAGES = 20
_MOST_LEAVES = 200
_DEEPEST = 8
_CUT = " [...]"


class Content(msgspec.Struct, frozen=True):
    """What spans say of what people, models and tools wrote. `redact` removes secrets; without
    `whole` only the texts of errors are given."""

    redact: Callable[[str], str] = str
    whole: bool = False

    def text(self, text: str, most: int = MOST_TEXT) -> str:
        """A text without secrets, not too long."""
        clean = self.redact(text).encode("utf-8", "replace").decode()
        return clean if len(clean) <= most else clean[: most - len(_CUT)] + _CUT

    def of_call(self, before: Sequence[Entry], reply: ReplyEntry | None) -> dict[str, Value]:
        """The messages of the run that a model call saw, the last ones, and its answer."""
        if not self.whole:
            return {}
        said = [self._message(entry.body) for entry in before]
        seen = [message for message in said if message is not None][-MOST_MESSAGES:]
        given: dict[str, Value] = {names.INPUT_MESSAGES: _json(seen)} if seen else {}
        if reply is not None:
            answer = self._reply(reply) | {"finish_reason": reply.finish_reason}
            given[names.OUTPUT_MESSAGES] = _json([answer])
        return given

    def of_tool(self, arguments: str | None, result: ToolResultEntry | None) -> dict[str, Value]:
        """The arguments and the result of a tool call."""
        given: dict[str, Value] = {}
        if self.whole and arguments is not None:
            given[names.TOOL_ARGUMENTS] = self._arguments(arguments)
        if self.whole and result is not None:
            given[names.TOOL_RESULT] = self.text(result.text)
        return given

    def _message(self, body: object) -> dict[str, Any] | None:
        match body:
            case UserEntry(text=text):
                return {"role": "user", "parts": [_text(self.text(text))]}
            case ReplyEntry():
                return self._reply(body)
            case ToolResultEntry(text=text):
                part = {"type": "tool_call_response", "response": self.text(text)}
                return {"role": "tool", "parts": [part]}
            case _:
                return None

    def _reply(self, reply: ReplyEntry) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [_text(self.text(reply.text))] if reply.text else []
        parts += [
            {
                "type": "tool_call",
                "id": self.text(call.id, 100),
                "name": self.text(call.name, 100),
                "arguments": self._arguments(call.arguments),
            }
            for call in reply.tool_calls[:MOST_MESSAGES]
        ]
        return {"role": "assistant", "parts": parts}

    def _arguments(self, arguments: str) -> str:
        """JSON without secrets, even if these are spelled with escapes in it."""
        try:
            decoded = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return self.text(arguments)
        return self.text(_json(self._clean(decoded, [_MOST_LEAVES], _DEEPEST)))

    def _clean(self, value: Any, left: list[int], deep: int) -> Any:
        left[0] -= 1
        if left[0] < 0 or deep < 0:
            return _CUT.strip()
        match value:
            case str():
                return self.text(value)
            case dict():
                pairs = list(value.items())[:_MOST_LEAVES]
                return {self.text(k, 100): self._clean(v, left, deep - 1) for k, v in pairs}
            case list():
                return [self._clean(item, left, deep - 1) for item in value[:_MOST_LEAVES]]
            case _:
                return value


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")
