"""Replacements that a program with an embedded nanobot supplies."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nanobot.providers.base import Models
from nanobot.providers.managed_context import ContextManager, ManagedModels
from nanobot.providers.one_provider import OneProvider
from nanobot.store.database.database import Database
from nanobot.tools.base import AnyTool, ToolExecutor
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.stand_in import TOOLS_THEMSELVES


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that replaces those configured, additional tools or a registry that replaces all
    tools, an executor, a context manager that shapes each request, and a store. Tool calls are not
    written to the program's log."""

    provider: OneProvider | None = None
    tools: tuple[AnyTool | Callable[..., object], ...] = ()
    registry: ToolRegistry | None = None
    executor: ToolExecutor | None = None
    context_manager: ContextManager | None = None
    store: Database | None = None

    def shaped(self, models: Models) -> Models:
        """The models, with requests shaped by the context manager if there is one."""
        manager = self.context_manager
        return models if manager is None else ManagedModels(models, manager)

    def offered(self, tools: ToolRegistry) -> ToolRegistry:
        """Its registry or nanobot's, run by its executor."""
        offered = tools if self.registry is None else self.registry
        offered.executor = self.executor
        if offered.stand_in is TOOLS_THEMSELVES:
            offered.stand_in = tools.stand_in
        return offered
