"""The agent of a gateway: the parts that execute runs, over any store, models and tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from nanobot.agent.accompanying import begin_log_of
from nanobot.agent.asking import Asker
from nanobot.agent.model_calls import ModelCaller
from nanobot.agent.prompt import PromptBuilder
from nanobot.agent.prompts import Summarizing
from nanobot.agent.runner import Begun, Check, Runner, Stage
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import StepLimits
from nanobot.agent.summarizers import OBEY_SUMMARIES
from nanobot.agent.tool_calls import Receipts, Retries, ToolExecutor
from nanobot.agent.worker import Capacity, Worker
from nanobot.app.zones import zone_of_home
from nanobot.bus.core import Bus
from nanobot.config.loader import AgentSettings
from nanobot.ports import BlobReader, Clock, Ids
from nanobot.providers.base import Models
from nanobot.seam.installed import provided
from nanobot.session.run_types import RunTypes
from nanobot.tools.registry import ToolRegistry


class AgentParts(msgspec.Struct, frozen=True, kw_only=True):
    """An agent; it is idle until its worker runs."""

    worker: Worker
    model_calls: ModelCaller
    tool_calls: ToolExecutor
    begun: list[Begun]
    """Called when a run begins, also those that are added later."""

    def configure(self, settings: RunSettings, retries: Retries) -> None:
        """Apply these settings to all runs, including active ones."""
        self.model_calls.settings = settings
        self.tool_calls.max_run_seconds = settings.limits.max_run_seconds
        self.tool_calls.retries = retries


def assemble_agent(  # noqa: PLR0913 - each is a part
    *,
    bus: Bus,
    models: Models,
    tools: ToolRegistry,
    prompt: PromptBuilder,
    clock: Clock,
    ids: Ids,
    settings: RunSettings,
    types: RunTypes,
    stages: Sequence[Stage],
    check: Check | None,
    summarizing: Summarizing | None,
    receipts: Receipts | None,
    blobs: BlobReader | None,
    capacity: Capacity,
    retries: Retries,
    asker: Asker | None,
) -> AgentParts:
    """Build an agent. `types` perform runs without a model, `stages` are called before a run acts,
    in order, `check` looks at answers before they are given, `receipts` says what becomes of
    messages that calls send, `blobs` has the pictures that models are shown, `asker` asks people
    about calls."""
    model_calls = ModelCaller(bus, models, tools, prompt, summarizing, clock, settings, blobs)
    seconds = settings.limits.max_run_seconds
    calls = ToolExecutor(tools, clock, seconds, retries, receipts, asker)
    obey = partial(provided, OBEY_SUMMARIES)
    runner = Runner(bus, model_calls, calls, clock, types, stages, check, (begin_log_of,), obey)
    worker = Worker(bus, runner, clock, ids, capacity)
    return AgentParts(worker=worker, model_calls=model_calls, tool_calls=calls, begun=runner.begun)


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
