"""A provider of models."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping

from nanobot.errors import ModelRefused
from nanobot.providers.base import (
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    TextDelta,
    ToolCall,
)


class Parrot(LLMProvider):
    """Says what it is told after `say:`, and calls what it is told after `tool:`."""

    def __init__(self, name: str, settings: Mapping[str, object]) -> None:
        self._name = name
        self._seed = str(settings.get("seed", "nothing"))

    def profile(self, model: str) -> ModelProfile:
        """The same for every parrot."""
        return ModelProfile(name=model, provider=self._name, helper_calls=True)

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Repeat it."""
        last = request.messages[-1]
        text = last.content if isinstance(last.content, str) else ""
        system = request.messages[0].content
        orders = re.findall(r"^(say|tool|decide):(.*)$", text, re.MULTILINE)
        word, words = orders[-1] if orders else ("say", "squawk")
        if isinstance(system, str) and system.startswith("You decide"):
            yield Completion(text=words if word == "decide" else "{}")
        elif last.role == "tool":
            yield Completion(text=text)
        elif words == "fly":
            raise ModelRefused("parrots do not fly here")
        elif word == "tool":
            name, _, arguments = words.partition(":")
            calls = (ToolCall("1", name, arguments),)
            yield Completion(text="", tool_calls=calls, finish_reason="tool_calls")
        else:
            answer = f"{words} ({request.model} for {self._seed})"
            yield TextDelta(answer)
            yield Completion(text=answer)

    async def close(self) -> None:
        """Nothing is held."""
