"""What vendors add to OpenAI's API: thoughts that go back with calls, and marks for a cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from nanobot.providers.base import ChatMessage, NativeAnswer
from nanobot.providers.openai_request import Additions, MessageOut, Quirks, usable_id
from nanobot.text import clean

_KEPT_TURNS = 2
_LONE_QUESTION = 2
"""The system prompt and one message: a summary, for example, which is requested only once."""


class Thoughts(msgspec.Struct, frozen=True):
    """The native form of an answer with calls: the thoughts behind them. `reasoning_details` is
    OpenRouter's form, `extra_content` Google's, for each call; both contain signatures without
    which their models refuse the calls.
    """

    reasoning_content: str = ""
    reasoning_details: list[dict[str, Any]] = []
    extra_content: list[dict[str, Any]] = []

    def __bool__(self) -> bool:
        return bool(self.reasoning_content or self.reasoning_details or any(self.extra_content))


class VendorAdditions(Additions):
    """Those of DeepSeek and Moonshot, of OpenRouter, and of Google."""

    def native(
        self, label: str, reasoning: str, details: Sequence[Any], extras: Sequence[dict[str, Any]]
    ) -> NativeAnswer | None:
        """The thoughts behind the calls, in the endpoint's own form; None if there are none."""
        thoughts = Thoughts(clean(reasoning), _joined(details), list(extras))
        if not thoughts:
            return None
        return NativeAnswer(label, json.dumps(msgspec.to_builtins(thoughts)))

    def add_thoughts(self, out: MessageOut, message: ChatMessage, quirks: Quirks) -> None:
        """Add the thoughts of an answer, in the form in which its endpoint gave them."""
        thoughts = _thoughts(message)
        for call, extra in zip(out.tool_calls or [], thoughts.extra_content, strict=False):
            call.extra_content = extra or msgspec.UNSET
        details = [
            detail
            | ({"id": usable_id(detail["id"], quirks)} if isinstance(detail.get("id"), str) else {})
            for detail in thoughts.reasoning_details
        ]
        out.reasoning_content = thoughts.reasoning_content if quirks.thoughts else msgspec.UNSET
        out.reasoning_details = details or msgspec.UNSET

    def mark(self, messages: Sequence[MessageOut], *, whole: bool) -> None:
        """Mark the system prompt (with the tools before it) and, unless the request is made only
        once, the last two turns that are not the model's.
        """
        others = [m for m in messages if m.role in ("user", "tool")]
        turns = others[-_KEPT_TURNS:] if whole or len(messages) > _LONE_QUESTION else []
        for message in [*(m for m in messages[:1] if m.role == "system"), *turns]:
            parts = message.content or []
            parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
            texts = [part for part in parts if part["type"] == "text" and part["text"].strip()]
            if texts:
                texts[-1]["cache_control"] = {"type": "ephemeral"}
                message.content = parts


def _thoughts(message: ChatMessage) -> Thoughts:
    if message.native is None:
        return Thoughts()
    try:
        return msgspec.json.decode(message.native.content, type=Thoughts)
    except msgspec.DecodeError:
        return Thoughts()


def _joined(pieces: Sequence[Any]) -> list[dict[str, Any]]:
    """OpenRouter's thoughts from their pieces: texts grow, signatures come at their end."""
    details: list[dict[str, Any]] = []
    for piece in pieces:
        if not isinstance(piece, dict):
            continue
        last = details[-1] if details else {}
        same = [last.get(key) == piece.get(key) for key in ("type", "index")]
        if not last or not all(same) or not {"text", "summary"} & piece.keys():
            details.append(dict(piece))
            continue
        for key, value in piece.items():
            if key in {"text", "summary"} and isinstance(value, str):
                before = last.get(key)
                last[key] = (before if isinstance(before, str) else "") + value
            elif value is not None:
                last[key] = value
    return details
