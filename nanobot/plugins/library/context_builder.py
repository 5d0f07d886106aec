"""The ContextBuilder: prompt and messages for programs that call a model themselves."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from nanobot.errors import UsageError
from nanobot.plugins.library.openai_messages import ContentPart, OpenAIMessage, RequestedCall
from nanobot.plugins.library.persona import (
    ConfiguredPrompts,
    MemoryStore,
    PersonaConfig,
    SkillsLoader,
)
from nanobot.providers.base import ModelProfile, ToolSpec

__all__ = ["ContextBuilder", "MemoryStore", "PersonaConfig", "SkillsLoader"]

_ANY_MODEL = ModelProfile(name="any", provider="any")
_EVERY_TOOL = tuple(
    ToolSpec(name, "", {}) for name in ("memory_save", "memory_search", "skill", "write_file")
)
"""What the parts of a prompt are chosen by."""


class ContextBuilder:
    """Builds system prompts and messages in OpenAI's format, like the agent's own. Lists passed in
    are extended in place and returned. Memory, skills and persona are the workspace's, unless
    given."""

    def __init__(
        self,
        workspace: Path,
        memory: MemoryStore | None = None,
        skills: SkillsLoader | None = None,
        persona_config: PersonaConfig | None = None,
    ) -> None:
        workspace = Path(workspace)
        additions = (skills or SkillsLoader(workspace)).additions
        persona = persona_config or PersonaConfig()
        self.persona = ConfiguredPrompts(workspace, memory, persona, additions)

    def build_system_prompt(self, tools: tuple[ToolSpec, ...] | None = None) -> str:
        """The current identity, principles, memory, safety, persona and skills, for a model with
        only these `tools` (None: all). Parts about other tools are left out."""
        return self.persona.snapshot(_ANY_MODEL, _EVERY_TOOL if tools is None else tools).system

    def build_messages(
        self,
        history: Sequence[OpenAIMessage],
        current_message: str,
        media: Sequence[str | Path] = (),
    ) -> list[OpenAIMessage]:
        """System prompt, history, and the message; with images, it has parts. Raises UsageError
        for a file that is no image or cannot be read."""
        content: str | list[ContentPart] = current_message
        if media:
            content = [*map(_image, media), {"type": "text", "text": current_message}]
        system = OpenAIMessage(role="system", content=self.build_system_prompt())
        earlier = [message.copy() for message in history]
        return [system, *earlier, {"role": "user", "content": content}]

    def add_assistant_message(
        self,
        messages: list[OpenAIMessage],
        content: str,
        tool_calls: Sequence[RequestedCall] = (),
    ) -> list[OpenAIMessage]:
        """Append an assistant message and its tool calls."""
        message: OpenAIMessage = {"role": "assistant", "content": content}
        if tool_calls:
            message["tool_calls"] = [call.copy() for call in tool_calls]
        messages.append(message)
        return messages

    def add_tool_result(
        self, messages: list[OpenAIMessage], tool_call_id: str, tool_name: str, result: str
    ) -> list[OpenAIMessage]:
        """Append the result of one of these calls."""
        messages.append(
            {"role": "tool", "tool_call_id": tool_call_id, "name": tool_name, "content": result}
        )
        return messages


def _image(path: str | Path) -> ContentPart:
    kind = mimetypes.guess_type(str(path))[0] or ""
    if not kind.startswith("image/"):
        raise UsageError(f"{path} is not an image")
    try:
        data = base64.b64encode(Path(path).read_bytes()).decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
