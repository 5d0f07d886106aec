"""The keys that the parts of a gateway can apply while it runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from nanobot.agent.prompt import PromptBuilder
from nanobot.agent.tool_calls import Retries
from nanobot.app.agent import AgentParts
from nanobot.app.bringing import unfit
from nanobot.app.live_settings import LiveSettings
from nanobot.app.machine import Machine
from nanobot.app.plugged import Plugged
from nanobot.app.settings import run_settings
from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.errors import ConfigError
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.installed import FoundPlugin
from nanobot.session.inbox import Busy
from nanobot.tools.policy import Policy
from nanobot.tools.redact import secrets_of
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace import personas


class FollowingParts(msgspec.Struct, frozen=True):
    """The parts of a gateway that apply changes."""

    machine: Machine
    models: ProviderRegistry
    tools: ToolRegistry
    prompt: PromptBuilder
    agent: AgentParts
    bus: Bus


def follow_all(live: LiveSettings, parts: FollowingParts) -> None:
    """Have the parts follow the configuration."""
    environ = parts.machine.environ

    def redact(config: Config) -> None:
        for secret in secrets_of(config, environ):
            parts.machine.redact.also(secret)

    def policy(config: Config) -> None:
        parts.tools.policy = Policy(config.policy, parts.tools.policy.added)

    def runs(config: Config) -> None:
        agent = config.agent
        retries = Retries(count=agent.tool_retries, delay=agent.tool_retry_delay)
        parts.agent.configure(run_settings(agent, environ), retries)
        parts.bus.lane_limit = agent.lane_limit
        parts.bus.busy = Busy(mode=agent.when_busy, collect_seconds=agent.collect_seconds)

    live.follow("providers", take=redact)
    live.follow(
        "agent.model",
        "providers",
        take=lambda config: parts.models.configure(config.agent.model, config.providers),
    )
    live.follow("policy", take=policy, check=lambda config: Policy(config.policy))
    live.follow(
        "agent.name",
        "agent.persona",
        take=lambda config: parts.prompt.configure(config.agent.name, config.agent.persona),
        check=lambda config: personas.check(config.agent.persona, config.workspace),
    )
    live.follow("agent", take=runs)


def follow_plugins(plugged: Plugged, live: LiveSettings) -> None:
    """Have plugins take over changes of their keys that apply at once."""

    def take(found: FoundPlugin, config: Config) -> None:
        plugged.take_table(found.table, config)
        with plugged.failing(found, "settings"):
            for taken in plugged.follows[found.name].takes:
                taken(config.tables[found.table])

    def check(new: Config) -> None:
        changed = plugged.with_settings(new)
        for finding in unfit(changed):
            if finding.level == "broken":
                raise ConfigError(f"{new.file}: {finding.text}")

    def other(found: FoundPlugin, taken: Callable[[Config], object], config: Config) -> None:
        with plugged.failing(found, "settings"):
            taken(config)

    for name, found in plugged.on.items():
        if found.plugin.settings is not None and plugged.follows[name].takes:
            live.follow(found.table, take=partial(take, found), check=check)
        for keys, taken in plugged.follows[name].others:
            live.follow(*keys, take=partial(other, found, taken))
