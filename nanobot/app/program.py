"""What a program brings that has a nanobot within itself."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nanobot.providers.base import Models
from nanobot.providers.managed_context import ContextManager, ManagedModels
from nanobot.providers.one_provider import OneProvider
from nanobot.store.database.sqlite import Database
from nanobot.tools.base import AnyTool, ToolExecutor
from nanobot.tools.registry import ToolRegistry


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A provider in the place of those configured, tools besides the others or a registry in the
    place of all, what executes them, what shapes each request, and the store. Calls of tools are no
    lines of the program's log."""

    provider: OneProvider | None = None
    tools: tuple[AnyTool | Callable[..., object], ...] = ()
    registry: ToolRegistry | None = None
    executor: ToolExecutor | None = None
    context_manager: ContextManager | None = None
    store: Database | None = None

    def shaped(self, models: Models) -> Models:
        """The models, whose requests its context manager shapes if it has one."""
        manager = self.context_manager
        return models if manager is None else ManagedModels(models, manager)

    def offered(self, tools: ToolRegistry) -> ToolRegistry:
        """Its own registry, or the one that nanobot has, run by its executor."""
        offered = tools if self.registry is None else self.registry
        offered.executor = self.executor
        return offered
