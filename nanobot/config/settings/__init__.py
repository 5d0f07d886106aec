"""What can be configured, as frozen tables with their defaults: all that config.toml may hold, and
what the whole of nanobot is given. `nanobot.config.loader` reads them; the schema for editors is
made of them, too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.agent import AgentSettings, MemorySettings, ProviderSettings
from nanobot.config.settings.base import Settings
from nanobot.config.settings.budgets import BudgetSettings
from nanobot.config.settings.channels import ChannelSettings, WebSettings
from nanobot.config.settings.events import EventsSettings
from nanobot.config.settings.retention import RetentionSettings
from nanobot.config.settings.tools import (
    McpSettings,
    PolicySettings,
    SkillsSettings,
    ToolsSettings,
)
from nanobot.config.settings.triggers import (
    HeartbeatSettings,
    HookSettings,
    LifecycleSettings,
    QuietSettings,
    TriggerSettings,
)
from nanobot.config.settings.voice import VoiceSettings


class Tables(Settings, frozen=True, kw_only=True):
    """The tables, and the keys above them that are taken as they stand."""

    drain_seconds: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    agent: AgentSettings = AgentSettings()
    providers: Mapping[str, ProviderSettings] = {}
    channels: Mapping[str, ChannelSettings] = {}
    voice: VoiceSettings = VoiceSettings()
    web: WebSettings = WebSettings()
    tools: ToolsSettings = ToolsSettings()
    memory: MemorySettings = MemorySettings()
    policy: PolicySettings = PolicySettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    budgets: BudgetSettings = BudgetSettings()
    skills: SkillsSettings = SkillsSettings()
    mcp: Mapping[str, McpSettings] = {}
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    hooks: Mapping[str, HookSettings] = {}
    events: EventsSettings = EventsSettings()
    quiet: QuietSettings = QuietSettings()
    triggers: Mapping[str, TriggerSettings] = {}
    retention: RetentionSettings = RetentionSettings()


class ConfigFile(Tables, frozen=True, kw_only=True):
    """nanobot's config.toml."""

    database_url: str = ""
    database_schema: str = ""
    workspace: str = ""
    blobs: str = ""


class Config(Tables, frozen=True, kw_only=True):
    """The whole configuration. `home`, `file`, `workspace` and `blobs` are absolute; none
    was created. `blobs` is a str where it is the URL of an object store.

    `file` is where the configuration is or would be. `warnings` are sentences for people.
    """

    home: Path
    file: Path
    database_url: str
    workspace: Path
    blobs: Path | str
    warnings: tuple[str, ...] = ()

    @property
    def served(self) -> tuple[str, ...]:
        """The names of the channels that are on."""
        return tuple(name for name, channel in self.channels.items() if channel.enabled)
