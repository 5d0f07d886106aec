"""Replacements that a program with an embedded nanobot supplies."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nanobot.providers.base import Models
from nanobot.providers.one_provider import OneProvider
from nanobot.store.database.database import Database
from nanobot.tools.base import AnyTool, ToolExecutor
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.stand_in import TOOLS_THEMSELVES
from nanobot.workspace.blobs import Blobs


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that replaces those configured, additional tools or a registry that replaces all
    tools, an executor, a function that wraps the models of runs, a store, and a storage of files.
    Tool calls are not written to the program's log."""

    provider: OneProvider | None = None
    tools: tuple[AnyTool | Callable[..., object], ...] = ()
    registry: ToolRegistry | None = None
    executor: ToolExecutor | None = None
    wrap_models: Callable[[Models], Models] | None = None
    store: Database | None = None
    blobs: Blobs | None = None

    def shaped(self, models: Models) -> Models:
        """The models, as the program wraps them."""
        return models if self.wrap_models is None else self.wrap_models(models)

    def offered(self, tools: ToolRegistry) -> ToolRegistry:
        """Its registry or nanobot's, run by its executor."""
        offered = tools if self.registry is None else self.registry
        offered.executor = self.executor
        if offered.stand_in is TOOLS_THEMSELVES:
            offered.stand_in = tools.stand_in
        return offered
