"""Who the assistant is: the system prompt, made once per session from the workspace."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from nanobot.briefing import Briefing, Part
from nanobot.bus.events import Role
from nanobot.journal import Snapshot
from nanobot.memory.files import curated
from nanobot.memory.lasting import Lasting
from nanobot.memory.port import OWNER
from nanobot.providers.base import ModelProfile, ToolSpec


class Persona:
    """Makes prompt snapshots of a briefing, by default that of a workspace folder."""

    def __init__(
        self, workspace: Path, briefing: Briefing | None = None, lasting: Lasting | None = None
    ) -> None:
        self._briefing = briefing or Briefing(workspace)
        self.lasting = lasting

    async def shown(
        self, profile: ModelProfile, tools: tuple[ToolSpec, ...], scope: str, *, private: bool
    ) -> Snapshot:
        """The snapshot with what is known of the scope the conversation belongs to. Raises
        StoreError."""
        known = ""
        if self.lasting is not None and not profile.short_prompt:
            known = await self.lasting.shown(scope)
        memory = Part(curated(scope), known) if known else None
        return self.snapshot(profile, tools, private=private, memory=memory)

    def snapshot(
        self,
        profile: ModelProfile,
        tools: tuple[ToolSpec, ...],
        *,
        private: bool = True,
        memory: Part | None = None,
    ) -> Snapshot:
        """The prompt for a model: short and without tools where the model wants it so. `private`:
        an owner speaks and nobody else reads along, so it holds what is for owners only. `memory`:
        what is known of others."""
        if profile.short_prompt:
            return Snapshot(system=self._briefing.short, tools=())
        offered = tools if profile.tools else ()
        parts = self._briefing.parts(offered, private=private, memory=memory)
        return Snapshot(
            system="\n\n".join(part.text for part in parts),
            tools=offered,
            parts=tuple((part.name, len(part.text)) for part in parts),
        )


def flavour(profile: ModelProfile, role: Role, *, private: bool, scope: str = OWNER) -> str:
    """What shapes a prompt besides the workspace: a session's is renewed when this changes."""
    if profile.short_prompt:
        return "short"
    kind = f"{role}{'+private' if private else ''}{'+tools' if profile.tools else ''}"
    return kind if scope == OWNER else f"{kind}+{scope}"


def digest(snapshot: Snapshot) -> str:
    """The name of a snapshot: the hash of its bytes."""
    return hashlib.sha256(msgspec.json.encode(snapshot)).hexdigest()
