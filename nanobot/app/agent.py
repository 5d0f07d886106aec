"""The agent of a gateway: the parts that execute runs, over any store, models and tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from nanobot.agent.accompanying import accompanied
from nanobot.agent.asking import Asker
from nanobot.agent.model_calls import ModelCaller
from nanobot.agent.prompt import PromptBuilder
from nanobot.agent.prompts import Summarizing
from nanobot.agent.runner import Check, Runner, Stage
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import StepLimits
from nanobot.agent.summarizers import OBEY_SUMMARIES
from nanobot.agent.tool_calls import Receipts, Retries, ToolExecutor
from nanobot.agent.worker import Capacity, Worker
from nanobot.app.zones import zone_of_home
from nanobot.bus.core import Bus
from nanobot.config.loader import AgentSettings
from nanobot.ports import BlobReader, Clock, Ids
from nanobot.propagation import Propagation
from nanobot.providers.base import Models
from nanobot.seam.installed import provided
from nanobot.session.run_types import NO_TYPES, RunTypes
from nanobot.tools.registry import ToolRegistry


class AgentDependencies(msgspec.Struct, frozen=True, kw_only=True):
    """Dependencies of an agent."""

    bus: Bus
    models: Models
    tools: ToolRegistry
    prompt: PromptBuilder
    clock: Clock
    ids: Ids
    settings: RunSettings
    types: RunTypes = NO_TYPES
    """Those that perform runs without a model."""
    stages: Sequence[Stage] = ()
    """Called before a run acts, in order."""
    check: Check | None = None
    """Looks at answers before they are given."""
    summarizing: Summarizing | None = None
    """Makes summaries."""
    receipts: Receipts | None = None
    """What becomes of messages that calls send."""
    blobs: BlobReader | None = None
    """Has the pictures that models are shown."""
    capacity: Capacity = msgspec.field(default_factory=Capacity)
    retries: Retries = msgspec.field(default_factory=Retries)
    asker: Asker | None = None
    """Asks people about calls."""
    propagation: Propagation = msgspec.field(default_factory=Propagation)


class AgentParts(msgspec.Struct, frozen=True, kw_only=True):
    """An agent; it is idle until its worker runs."""

    worker: Worker
    model_calls: ModelCaller
    tool_calls: ToolExecutor

    def configure(self, settings: RunSettings, retries: Retries) -> None:
        """Apply these settings to all runs, including active ones."""
        self.model_calls.settings = settings
        self.tool_calls.max_run_seconds = settings.limits.max_run_seconds
        self.tool_calls.retries = retries


def assemble_agent(dependencies: AgentDependencies) -> AgentParts:
    """Build an agent from these dependencies."""
    bus, clock, tools = dependencies.bus, dependencies.clock, dependencies.tools
    prompts, summarizing = dependencies.prompt, dependencies.summarizing
    models = ModelCaller(
        *(bus, dependencies.models, tools, prompts, summarizing, clock),
        dependencies.settings,
        dependencies.blobs,
    )
    calls = ToolExecutor(
        tools,
        clock,
        dependencies.settings.limits.max_run_seconds,
        dependencies.retries,
        dependencies.receipts,
        dependencies.asker,
    )
    runner = Runner(
        *(bus, models, calls, clock),
        dependencies.types,
        dependencies.stages,
        dependencies.check,
        accompanied(dependencies.propagation),
        lambda: provided(OBEY_SUMMARIES),
    )
    worker = Worker(bus, runner, clock, dependencies.ids, dependencies.capacity)
    return AgentParts(worker=worker, model_calls=models, tool_calls=calls)


def run_settings(config: AgentSettings, environ: Mapping[str, str]) -> RunSettings:
    """The limits of runs, and the parameters of model calls."""
    return RunSettings(
        limits=StepLimits(
            max_iterations=config.max_iterations,
            max_tool_rounds=config.max_tool_rounds,
            max_tool_calls=config.max_tool_calls,
            max_run_seconds=config.max_run_seconds,
        ),
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        effort=config.effort,
        max_history=config.max_history,
        fallback_models=config.fallback_models,
        steer=config.when_busy == "steer",
        zone=zone_of_home(config, environ),
    )


def capacity(config: AgentSettings) -> Capacity:
    """The maximum of parallel runs."""
    return Capacity(
        max_runs=config.max_concurrent_runs,
        max_background=config.max_background_runs,
    )
