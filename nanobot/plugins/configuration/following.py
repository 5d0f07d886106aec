"""The parts of a gateway that can apply keys while it runs: those of the core, and plugins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from nanobot.agent.prompt import PromptBuilder
from nanobot.agent.tool_calls import Retries
from nanobot.app.agent import AgentParts, run_settings
from nanobot.app.bringing import unfit
from nanobot.app.plugged import Plugged
from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.errors import ConfigError
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Environment
from nanobot.session.inbox import Busy
from nanobot.tools.judge import judge_by
from nanobot.tools.redact import Redactor, secrets_of
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace import personas


def not_checked(_: Config) -> None:
    """The default of `check`: any configuration can be applied."""


class Follower(msgspec.Struct, frozen=True):
    """A part of the gateway that applies changes of `keys`, and of all keys below them. `check`
    raises ConfigError for a configuration that it cannot apply."""

    keys: tuple[str, ...]
    take: Callable[[Config], None]
    check: Callable[[Config], object] = not_checked


def followers_of(plugged: Plugged) -> list[Follower]:
    """The parts of the core, then the plugins."""
    return [*_of_core(plugged), *_of_plugins(plugged)]


def _of_core(plugged: Plugged) -> list[Follower]:
    offers = plugged.offers
    environ, redactor = offers.get(Environment), offers.get(Redactor)
    models, tools = offers.get(ProviderRegistry), offers.get(ToolRegistry)
    prompt, agent, bus = offers.get(PromptBuilder), offers.get(AgentParts), offers.get(Bus)

    def redact(config: Config) -> None:
        for secret in secrets_of(config, environ):
            redactor.also(secret)

    def policy(config: Config) -> None:
        tools.policy = judge_by(config.policy, tools.policy.added)

    def runs(config: Config) -> None:
        settings = config.agent
        retries = Retries(count=settings.tool_retries, delay=settings.tool_retry_delay)
        agent.configure(run_settings(settings, environ), retries)
        bus.lane_limit = settings.lane_limit
        bus.busy = Busy(mode=settings.when_busy, collect_seconds=settings.collect_seconds)

    return [
        Follower(("providers",), redact),
        Follower(
            ("agent.model", "providers"),
            lambda config: models.configure(config.agent.model, config.providers),
        ),
        Follower(("policy",), policy, lambda config: judge_by(config.policy)),
        Follower(
            ("agent.name", "agent.persona"),
            lambda config: prompt.configure(config.agent.name, config.agent.persona),
            lambda config: personas.check(config.agent.persona, config.workspace),
        ),
        Follower(("agent",), runs),
    ]


def _of_plugins(plugged: Plugged) -> list[Follower]:
    """The plugins that take over changes of their keys that apply at once."""

    def take(found: FoundPlugin, config: Config) -> None:
        plugged.tables = {**plugged.tables, found.table: config.tables[found.table]}
        with plugged.failing(found, "settings"):
            for taken in plugged.follows[found.name].takes:
                taken(config.tables[found.table])

    def check(new: Config) -> None:
        for finding in unfit(_with_settings(plugged, new)):
            if finding.level == "broken":
                raise ConfigError(f"{new.file}: {finding.text}")

    def other(found: FoundPlugin, taken: Callable[[Config], object], config: Config) -> None:
        with plugged.failing(found, "settings"):
            taken(config)

    followers: list[Follower] = []
    for name, found in plugged.on.items():
        if found.plugin.settings is not None and plugged.follows[name].takes:
            followers.append(Follower((found.table,), partial(take, found), check))
        for keys, taken in plugged.follows[name].others:
            followers.append(Follower(keys, partial(other, found, taken)))
    return followers


def _with_settings(plugged: Plugged, config: Config) -> Plugged:
    """The plugins that take over changes of their keys, as they were with that configuration; for
    checks only."""
    other = Plugged(config)
    other.offers = plugged.offers.with_these({Config: config})
    followed = {name for name, follow in plugged.follows.items() if follow.takes}
    for name in set(other.on) - followed:
        other.drop(name)
    return other
