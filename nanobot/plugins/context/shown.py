"""What a model would be sent, as people read it."""

from __future__ import annotations

import msgspec

from nanobot.operations.rendering import Now
from nanobot.providers.base import ChatMessage, TextPart, ToolSpec
from nanobot.text import Sentence


class PartView(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a request, and its approximate number of tokens."""

    name: str
    tokens: int


class ContextView(msgspec.Struct, frozen=True, kw_only=True):
    """What a model would be sent."""

    session_key: str
    model: str
    context_tokens: int
    tokens: int
    """The estimate of all `parts`, of the model's `context_tokens`."""
    renewed: bool
    """The prompt would be renewed."""
    parts: tuple[PartView, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[ChatMessage, ...] = ()
    cut: bool = False
    """Only the counts are here."""


def text_of(message: ChatMessage) -> str:
    """The text of a message, with pictures named by kind."""
    if isinstance(message.content, str):
        return message.content
    parts = (p.text if isinstance(p, TextPart) else f"[{p.mime}]" for p in message.content)
    return "\n".join(parts)


def counts_only(view: ContextView) -> ContextView:
    """For a chat, where the whole of it would be many messages."""
    return msgspec.structs.replace(view, system="", tools=(), messages=(), cut=True)


def context_text(view: ContextView, _: Now) -> Sentence:
    """For people: the counts, then everything as it would be sent."""
    share = 100 * view.tokens / view.context_tokens
    lines = [
        f"{view.session_key}: about {view.tokens:,} tokens for {view.model} "
        f"({share:.0f} % of {view.context_tokens:,})",
        *(f"- {part.name}: {part.tokens:,}" for part in view.parts),
    ]
    if view.renewed:
        lines.append("The files have changed: the next message rebuilds the prompt.")
    if view.cut:
        lines.append("`nanobot context show SESSION` on the gateway's machine prints all of it.")
        return "\n".join(lines)
    lines += ["", "=== system ===", view.system]
    for tool in view.tools:
        schema = msgspec.json.encode(tool.parameters).decode()
        lines += ["", f"=== tool {tool.name} ===", tool.description, schema]
    for message in view.messages:
        lines += ["", f"=== {message.role} ===", text_of(message)]
        lines += [f"(calls {call.name} {call.arguments})" for call in message.tool_calls]
    return "\n".join(lines)
