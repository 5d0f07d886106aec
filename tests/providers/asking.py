"""What the tests of the client ask, and how they collect the stream."""

from __future__ import annotations

from typing import Any

from nanobot.providers.base import ChatMessage, Delta, ModelRequest, ToolSpec
from nanobot.providers.openai_compat import OpenAICompatProvider

KEY = "sk-very-secret-0123456789"
LOOK = ToolSpec("look", "Look at a file.", {"type": "object", "properties": {}})


def ask(*contents: str | ChatMessage, **more: Any) -> ModelRequest:
    messages = tuple(
        ChatMessage(role="user", content=content) if isinstance(content, str) else content
        for content in contents
    )
    return ModelRequest(model="m-1", messages=messages, **more)


async def everything(provider: OpenAICompatProvider, request: ModelRequest) -> list[Delta]:
    return [delta async for delta in provider.chat_stream(request)]
