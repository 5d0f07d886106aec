"""Encodes a ModelRequest for Anthropic's Messages API.

The same request always gives the same bytes, and a longer conversation begins with the blocks of
the shorter one, so that the provider's cache hits. The cache is told to keep the tools, the system
prompt and the user's last two turns. Based on https://platform.claude.com/docs/en/api/messages and
https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from nanobot.plugins.anthropic.thinking import thinking_of
from nanobot.plugins.common.models.tool_schemas import object_schema
from nanobot.providers.base import ChatMessage, ImagePart, ModelRequest, Part, TextPart, ToolSpec
from nanobot.providers.openai_request import Quirks, encoded, usable_name, valid_arguments

KEEP = {"type": "ephemeral"}
"""`cache_control`: the cache keeps everything up to and including this block, for five minutes."""

_KEPT_TURNS = 2
"""Together with the marks after the tools and the system prompt these make four, the maximum."""

_ID_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


class _UserTurn(msgspec.Struct):
    content: list[dict[str, Any]]
    role: Literal["user"] = "user"


class _AssistantTurn(msgspec.Struct):
    content: list[dict[str, Any]] | msgspec.Raw
    role: Literal["assistant"] = "assistant"


class _Conversation:
    """Collects the turns. Each call gets a unique id, as the API requires, and exactly one result,
    at the start of the next turn.
    """

    def __init__(self) -> None:
        self.turns: list[_UserTurn | _AssistantTurn] = []
        self.called: dict[str, None] = {}
        self._ids: set[str] = set()
        self._open: deque[tuple[str, str]] = deque()

    def add(self, message: ChatMessage) -> None:
        if message.role == "assistant":
            self._close()
            self._answer(message)
        elif message.role == "tool":
            self._result(message)
        else:
            self._close()
            self._said(_parts(message.content))

    def end(self) -> None:
        """Make the conversation begin and end with the user, as the API requires."""
        self._close()
        if not self.turns or isinstance(self.turns[-1], _AssistantTurn):
            self._said([_text("(Continue.)")])
        if isinstance(self.turns[0], _AssistantTurn):
            self.turns.insert(0, _UserTurn([_text("(The assistant speaks first.)")]))

    def _said(self, blocks: list[dict[str, Any]]) -> None:
        turn = self.turns[-1] if self.turns else None
        if isinstance(turn, _UserTurn):
            turn.content += blocks
        else:
            self.turns.append(_UserTurn(blocks))

    def _answer(self, message: ChatMessage) -> None:
        for call in message.tool_calls:
            self.called[usable_name(call.name)] = None
        if message.native:
            self._ids.update(call.id for call in message.tool_calls)
            self._open.extend((call.id, call.id) for call in message.tool_calls)
            self.turns.append(_AssistantTurn(msgspec.Raw(message.native.content.encode())))
            return
        text = _plain(message.content)
        blocks = [_text(text)] if text.strip() else []
        for call in message.tool_calls:
            own = self._own_id(call.id)
            self._open.append((call.id, own))
            arguments = msgspec.Raw(valid_arguments(call.arguments).encode())
            name = usable_name(call.name)
            blocks.append({"type": "tool_use", "id": own, "name": name, "input": arguments})
        if blocks:
            self.turns.append(_AssistantTurn(blocks))

    def _own_id(self, call_id: str) -> str:
        """The id, unless an earlier call has the same one: some providers restart their numbering
        with each answer.
        """
        plain = _ID_REFUSED.sub("_", call_id)[:64] or "call"
        own, number = plain, 1
        while own in self._ids:
            number += 1
            own = f"{plain}_{number}"
        self._ids.add(own)
        return own

    def _result(self, message: ChatMessage) -> None:
        own = next((own for asked, own in self._open if asked == message.tool_call_id), None)
        if own is None:  # a result without a call
            self._close()
            self._said([_text("(the result of a tool call)"), *_parts(message.content)])
            return
        self._open.remove((str(message.tool_call_id), own))
        self._said([_result(own, _parts(message.content))])

    def _close(self) -> None:
        """Add results for calls that have none."""
        while self._open:
            _, own = self._open.popleft()
            self._said([_result(own, [_text("(no result)")])])


def encode_message(request: ModelRequest, quirks: Quirks) -> bytes:
    """The body of POST /v1/messages. Invalid Unicode is repaired."""
    system = "\n\n".join(_plain(m.content) for m in request.messages if m.role == "system")
    conversation = _Conversation()
    for message in request.messages:
        if message.role != "system":
            conversation.add(message)
    conversation.end()
    # A single question without tools (a summary, for example) is not sent again, so it is not
    # cached.
    if request.tools or len(conversation.turns) > 1:
        _keep(conversation.turns)
    body: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        "max_tokens": request.max_tokens,
        "messages": conversation.turns,
    }
    if system.strip():
        body["system"] = [_text(system) | {"cache_control": KEEP}]
    if not quirks.no_effort:
        thinking = thinking_of(request.effort, request.model, request.max_tokens)
        if not (_has_budget(thinking) and _acted_without_thought(request.messages)):
            body |= thinking
    thinks = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    if not quirks.no_temperature and not thinks:  # a thinking model accepts none
        body["temperature"] = min(request.temperature, 1.0)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tools"][-1]["cache_control"] = KEEP
    elif conversation.called:  # calls may only be shown together with the tools
        body["tools"] = [_tool(ToolSpec(name, "", {})) for name in conversation.called]
        body["tool_choice"] = {"type": "none"}
    return encoded(body)


def _has_budget(thinking: dict[str, Any]) -> bool:
    return "budget_tokens" in thinking.get("thinking", {})


def _acted_without_thought(messages: Sequence[ChatMessage]) -> bool:
    """Whether the last answer made calls without a thought: the API then rejects a request with a
    thinking budget.
    """
    answers = [message for message in messages if message.role == "assistant"]
    return bool(answers and answers[-1].tool_calls and answers[-1].native is None)


def _keep(turns: Sequence[_UserTurn | _AssistantTurn]) -> None:
    users = [turn for turn in turns if isinstance(turn, _UserTurn)]
    for turn in users[-_KEPT_TURNS:]:
        turn.content[-1]["cache_control"] = KEEP


def _parts(content: str | tuple[Part, ...]) -> list[dict[str, Any]]:
    """The blocks of a message: at least one, and no empty text, which the API rejects."""
    parts = (TextPart(content),) if isinstance(content, str) else content
    blocks = [_part(part) for part in parts]
    return [block for block in blocks if block.get("text", "-").strip()] or [_text("(empty)")]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return _text(part.text)
    if part.mime not in _IMAGES:
        return _text(f"[an image of the type {part.mime}, which this model cannot see]")
    source = {"type": "base64", "media_type": part.mime, "data": part.data}
    return {"type": "image", "source": source}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _result(call_id: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": blocks}


def _plain(content: str | tuple[Part, ...]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join("[image]" if isinstance(part, ImagePart) else part.text for part in content)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    schema = object_schema(tool.parameters)
    properties = schema["properties"]
    if any(not _PROPERTY.fullmatch(name) for name in properties):
        allowed = {name: value for name, value in properties.items() if _PROPERTY.fullmatch(name)}
        required = [name for name in schema.get("required", ()) if name in allowed]
        schema |= {"properties": allowed, "required": required}
    return {
        "name": usable_name(tool.name),
        "description": tool.description or tool.name,
        "input_schema": schema,
    }
