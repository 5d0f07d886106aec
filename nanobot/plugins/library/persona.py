"""Options of a ContextBuilder: the memory, the available skills, and a persona."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from nanobot.agent.prompt import (
    FILE_LIMIT,
    MEMORY,
    LastParts,
    PromptAddition,
    PromptBuilder,
    PromptPart,
)
from nanobot.errors import UsageError
from nanobot.providers.base import ToolSpec
from nanobot.seam.installed import Interface, provided
from nanobot.workspace import personas
from nanobot.workspace.folder import clipped

SKILL_PARTS: Interface[Callable[[Path], LastParts]] = Interface("skill_parts")
"""Makes the parts about skills of the prompts of a workspace."""


class SkillsLoader:
    """The skills of a workspace, as prompts show them; none if no plugin provides them."""

    def __init__(self, workspace: Path) -> None:
        make = provided(SKILL_PARTS)
        self.additions = [] if make is None else [PromptAddition(last=make(Path(workspace)))]


class PersonaConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The assistant's identity: its name, how it addresses the person, and its style. The style is
    one of the `personality` presets (or the workspace's `personas/NAME.md`), or the text in
    `custom_personality`."""

    ai_name: str = "nanobot"
    user_name: str = ""
    personality: str = "default"
    custom_personality: str = ""


class MemoryStore:
    """The MEMORY.md of a folder, which is included in prompts."""

    def __init__(self, folder: Path) -> None:
        self.file = Path(folder) / MEMORY

    def read(self) -> str:
        """Its content, up to the limit of a prompt; "" if there is no file."""
        return clipped(self.file.parent, MEMORY, FILE_LIMIT)

    def append(self, fact: str) -> None:
        """Append a line. Raises UsageError for an empty fact, and OSError."""
        line = " ".join(fact.split())
        if not line:
            raise UsageError("fact: there is nothing to remember")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"- {line}\n")


class ConfiguredPrompts(PromptBuilder):
    """The prompts of a workspace, with another memory and persona. Raises UsageError for an
    unknown personality."""

    def __init__(
        self,
        workspace: Path,
        memory: MemoryStore | None,
        persona: PersonaConfig,
        additions: Sequence[PromptAddition],
    ) -> None:
        presets = personas.names(workspace)
        if not persona.custom_personality and persona.personality not in presets:
            raise UsageError(f"persona_config.personality: there are {', '.join(presets)}")
        super().__init__(workspace, additions, name=persona.ai_name, persona=persona.personality)
        self._memory = memory
        self._config = persona

    def parts(
        self, tools: Sequence[ToolSpec], *, private: bool, added: Sequence[PromptPart] = ()
    ) -> list[PromptPart]:
        texts = {
            part.name: part.text for part in super().parts(tools, private=private, added=added)
        }
        if self._config.user_name:
            texts["identity"] += f"\nThe person you talk to is called {self._config.user_name}."
        if self._config.custom_personality:
            texts["persona"] = f"# How you talk\n\n{self._config.custom_personality}"
        if self._memory is not None and private:
            text = self._memory.read()
            texts[MEMORY] = f"# {MEMORY}\n\n{text}" if text else ""
        return [PromptPart(name, text) for name, text in texts.items() if text]
