"""What operations need of the gateway that they work for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from nanobot.agent.budgets import Budgets, UsageStore
    from nanobot.agent.context_preview import ContextPreview
    from nanobot.bus.core import Bus
    from nanobot.bus.pairing import Pairing
    from nanobot.memory.port import MemoryPort
    from nanobot.operations.exposures import SecurityAdmin
    from nanobot.providers.base import ModelProfile
    from nanobot.session.entries import ReplyEntry
    from nanobot.session.journal import Journal
    from nanobot.session.runs import Run
    from nanobot.session.tasks import TaskRecords, TaskStarter
    from nanobot.session.views import Records
    from nanobot.tools.mcp.servers import McpServers
    from nanobot.tools.registry import ToolRegistry
    from nanobot.triggers.cron.editing import JobEditor
    from nanobot.triggers.webhooks.views import WebhookAdmin
    from nanobot.workspace.skills import Skills


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway says of itself. `serving` False: the store is open, but nothing runs.
    `watches`: what those of the machine saw last."""

    version: str
    home: str
    pid: int
    serving: bool
    channels: Mapping[str, str]
    web: str = ""
    watches: Mapping[str, str] = {}


class Engine(Protocol):
    """What operations need of the gateway."""

    @property
    def bus(self) -> Bus:
        """Wake-ups and watchers over the journal."""
        ...

    @property
    def tasks(self) -> TaskRecords:
        """What background runs there are."""
        ...

    @property
    def starter(self) -> TaskStarter:
        """Starts background runs."""
        ...

    @property
    def journal(self) -> Journal:
        """The store's verbs."""
        ...

    @property
    def records(self) -> Records:
        """The store as people see it."""
        ...

    @property
    def pairing(self) -> Pairing:
        """Who was let in beside the people of the configuration."""
        ...

    @property
    def budgets(self) -> Budgets:
        """What may be spent."""
        ...

    @property
    def spending(self) -> UsageStore:
        """What was spent."""
        ...

    @property
    def memory(self) -> MemoryPort:
        """What is remembered beyond conversations."""
        ...

    @property
    def book(self) -> JobEditor:
        """The scheduled jobs."""
        ...

    @property
    def tools(self) -> ToolRegistry:
        """What the model may do."""
        ...

    @property
    def glimpse(self) -> ContextPreview:
        """What models would be shown."""
        ...

    @property
    def skills(self) -> Skills:
        """Pages on how to do things."""
        ...

    @property
    def mcp(self) -> McpServers:
        """The MCP servers."""
        ...

    @property
    def security(self) -> SecurityAdmin:
        """What attackers could reach."""
        ...

    @property
    def door(self) -> WebhookAdmin:
        """The webhooks."""
        ...

    def running(self) -> list[Run]:
        """The runs driven now."""
        ...

    def partial(self, session_key: str) -> ReplyEntry | None:
        """What the session's run has said so far."""
        ...

    async def describe_model(self, label: str | None) -> ModelProfile:
        """The model that a session with that label talks to; raises ConfigError or ModelError."""
        ...

    def facts(self) -> Facts:
        """What it is and where."""
        ...

    def now(self) -> float:
        """Unix seconds."""
        ...

    def uptime(self) -> float:
        """Seconds since the start."""
        ...
