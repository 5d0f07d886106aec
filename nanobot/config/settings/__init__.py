"""What can be configured, as frozen tables with their defaults.

`nanobot.config.loader` fills them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.agent import (
    CLIENTS,
    AgentSettings,
    DecisionSettings,
    MemorySettings,
    PriceSettings,
    ProviderSettings,
    RunType,
)
from nanobot.config.settings.base import Count, Duration, LargeCount, Settings
from nanobot.config.settings.budgets import AllowanceSettings, BudgetSettings
from nanobot.config.settings.channels import ChannelSettings, ChatSettings, WebSettings
from nanobot.config.settings.events import (
    NAMED_WATCHES,
    WATCHES,
    DiskSettings,
    EventsSettings,
    FilesSettings,
    LoadSettings,
    LogSettings,
    MemoryWatchSettings,
    ProcessSettings,
    SwapSettings,
    UnitsSettings,
    WatchSettings,
    lowered,
    watch_trouble,
)
from nanobot.config.settings.tools import (
    ExecSettings,
    McpSettings,
    PolicySettings,
    RuleSettings,
    ToolsSettings,
    WebToolSettings,
    rules_of,
    server_trouble,
    web_trouble,
)
from nanobot.config.settings.triggers import (
    HeartbeatSettings,
    HookSettings,
    LifecycleSettings,
    QuietLimitSettings,
    QuietSettings,
    TriggerSettings,
    hook_trouble,
)

__all__ = [
    "CLIENTS",
    "NAMED_WATCHES",
    "WATCHES",
    "AgentSettings",
    "AllowanceSettings",
    "BudgetSettings",
    "ChannelSettings",
    "ChatSettings",
    "Config",
    "Count",
    "DecisionSettings",
    "DiskSettings",
    "Duration",
    "EventsSettings",
    "ExecSettings",
    "FilesSettings",
    "HeartbeatSettings",
    "HookSettings",
    "LargeCount",
    "LifecycleSettings",
    "LoadSettings",
    "LogSettings",
    "McpSettings",
    "MemorySettings",
    "MemoryWatchSettings",
    "PolicySettings",
    "PriceSettings",
    "ProcessSettings",
    "ProviderSettings",
    "QuietLimitSettings",
    "QuietSettings",
    "RuleSettings",
    "RunType",
    "Settings",
    "SwapSettings",
    "ToolsSettings",
    "Top",
    "TriggerSettings",
    "UnitsSettings",
    "WatchSettings",
    "WebSettings",
    "WebToolSettings",
    "every_key",
    "hook_trouble",
    "lowered",
    "rules_of",
    "server_trouble",
    "watch_trouble",
    "web_trouble",
]


class Top(Settings, frozen=True, kw_only=True):
    """The keys above all tables."""

    database_url: str = ""
    workspace: str = ""
    drain_seconds: Annotated[float, Meta(ge=0, le=3600)] = 30.0


class Config(Settings, frozen=True, kw_only=True):
    """The whole configuration. `home`, `file` and `workspace` are absolute; none was created.

    `file` is where the configuration is or would be. `warnings` are sentences for people.
    """

    home: Path
    file: Path
    database_url: str
    workspace: Path
    drain_seconds: float = 30.0
    agent: AgentSettings = AgentSettings()
    providers: Mapping[str, ProviderSettings] = {}
    channels: Mapping[str, ChannelSettings] = {}
    web: WebSettings = WebSettings()
    tools: ToolsSettings = ToolsSettings()
    memory: MemorySettings = MemorySettings()
    policy: PolicySettings = PolicySettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    budgets: BudgetSettings = BudgetSettings()
    mcp: Mapping[str, McpSettings] = {}
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    hooks: Mapping[str, HookSettings] = {}
    events: EventsSettings = EventsSettings()
    quiet: QuietSettings = QuietSettings()
    triggers: Mapping[str, TriggerSettings] = {}
    warnings: tuple[str, ...] = ()

    @property
    def served(self) -> tuple[str, ...]:
        """The names of the channels that are on."""
        return tuple(name for name, one in self.channels.items() if one.enabled)


def every_key() -> list[str]:
    """The keys whose names are known in advance, dotted."""
    tables = {"agent": AgentSettings, "web": WebSettings, "tools.exec": ExecSettings}
    tables |= {"tools.web": WebToolSettings, "policy": PolicySettings}
    tables |= {"lifecycle": LifecycleSettings, "memory": MemorySettings}
    tables |= {"heartbeat": HeartbeatSettings, "events": EventsSettings, "quiet": QuietSettings}
    nested = [f"{path}.{key}" for path, kind in tables.items() for key in kind.__struct_fields__]
    return [*Top.__struct_fields__, *nested]
