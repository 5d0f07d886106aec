"""Settings of runs and of parallelism, from the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.agent.settings import RunSettings
from nanobot.agent.step import StepLimits
from nanobot.agent.worker import Capacity
from nanobot.app.zones import zone_of_home
from nanobot.config.settings.agent import AgentSettings


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
