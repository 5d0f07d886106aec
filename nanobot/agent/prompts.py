"""What a model call needs from elsewhere: its prompt, and summaries of what leaves the window."""

from __future__ import annotations

from typing import Protocol

from nanobot.agent.active_run import ActiveRun
from nanobot.messages import Role
from nanobot.providers.base import LLMProvider, ModelProfile, ToolSpec
from nanobot.session.runs import PromptSnapshot
from nanobot.session.scopes import OWNER


class Prompts(Protocol):
    """Makes prompts. The same files, settings and tools give the same bytes."""

    async def shown(
        self, profile: ModelProfile, tools: tuple[ToolSpec, ...], scope: str, *, private: bool
    ) -> PromptSnapshot:
        """The prompt for a model in a conversation of that scope. `private`: only an owner reads
        the chat. Raises StoreError."""


class Summarizing(Protocol):
    """Replaces what leaves the window with a summary."""

    async def summarise(
        self, active: ActiveRun, provider: LLMProvider, profile: ModelProfile, upto: int
    ) -> None:
        """Log a summary of what the model sees up to entry `upto`, if one can be made. Raises
        OverBudget."""


def prompt_variant(profile: ModelProfile, role: Role, *, private: bool, scope: str = OWNER) -> str:
    """What shapes a prompt apart from the workspace. When it changes, the prompt is renewed."""
    if profile.short_prompt:
        return "short"
    kind = f"{role}{'+private' if private else ''}{'+tools' if profile.tools else ''}"
    return kind if scope == OWNER else f"{kind}+{scope}"
