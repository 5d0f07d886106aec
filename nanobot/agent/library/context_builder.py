"""The ContextBuilder: prompt and messages for programs that call a model themselves."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nanobot.agent.prompt import PromptBuilder
from nanobot.errors import UsageError
from nanobot.providers.base import ModelProfile, ToolSpec

_ANY_MODEL = ModelProfile(name="any", provider="any")

Message = dict[str, Any]


class ContextBuilder:
    """System prompt and messages in OpenAI's form, made as the agent makes its own. Lists that it
    is given are extended in place and returned."""

    def __init__(self, workspace: Path, persona: PromptBuilder | None = None) -> None:
        self.persona = persona or PromptBuilder(workspace)

    def build_system_prompt(self, tools: tuple[ToolSpec, ...] = ()) -> str:
        """The prompt of the persona over its workspace, as it is now."""
        return self.persona.snapshot(_ANY_MODEL, tools).system

    def build_messages(
        self,
        history: Sequence[Mapping[str, Any]],
        current_message: str,
        media: Sequence[str | Path] = (),
    ) -> list[Message]:
        """System prompt, history, and the message; with images, it has parts. Raises UsageError
        for a file that is no image or cannot be read."""
        content: str | list[Message] = current_message
        if media:
            content = [*map(_image, media), {"type": "text", "text": current_message}]
        system = {"role": "system", "content": self.build_system_prompt()}
        return [system, *map(dict, history), {"role": "user", "content": content}]

    def add_assistant_message(
        self,
        messages: list[Message],
        content: str,
        tool_calls: Sequence[Mapping[str, Any]] = (),
    ) -> list[Message]:
        """What the model said and asked for."""
        message: Message = {"role": "assistant", "content": content}
        if tool_calls:
            message["tool_calls"] = [dict(call) for call in tool_calls]
        messages.append(message)
        return messages

    def add_tool_result(
        self, messages: list[Message], tool_call_id: str, tool_name: str, result: str
    ) -> list[Message]:
        answer = {"role": "tool", "tool_call_id": tool_call_id, "name": tool_name}
        messages.append({**answer, "content": result})
        return messages


def _image(path: str | Path) -> Message:
    kind = mimetypes.guess_type(str(path))[0] or ""
    if not kind.startswith("image/"):
        raise UsageError(f"{path} is not an image")
    try:
        data = base64.b64encode(Path(path).read_bytes()).decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
