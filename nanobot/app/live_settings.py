"""Settings that take effect while the gateway runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from nanobot.agent.tool_calls import Retries
from nanobot.app.settings import run_settings
from nanobot.config.keys import Applies, differing, with_live_keys
from nanobot.config.loader import Config
from nanobot.session.inbox import Busy
from nanobot.tools.policy import Policy
from nanobot.tools.redact import secrets_of
from nanobot.workspace import personas

if TYPE_CHECKING:
    from nanobot.agent.prompt import PromptBuilder
    from nanobot.app.agent import AgentParts
    from nanobot.app.machine import Machine
    from nanobot.bus.core import Bus
    from nanobot.providers.registry import ProviderRegistry
    from nanobot.tools.registry import ToolRegistry


class _Follower(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the gateway that applies changes of keys beginning with one of `keys`."""

    keys: tuple[str, ...]
    take: Callable[[Config], None]
    check: Callable[[Config], object] | None


class LiveSettings:
    """The current configuration of a process. Changes of keys declared as live are applied at once
    by the parts that follow them; all other keys keep their values from the start. `in_prompts`:
    the keys of what plugins add to prompts."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.in_prompts: tuple[str, ...] = ()
        self._followers: list[_Follower] = []

    def follow(
        self,
        *keys: str,
        take: Callable[[Config], None],
        check: Callable[[Config], object] | None = None,
    ) -> None:
        """Call `take` when a key with such a prefix changes. `check` is called before anything is
        written, and raises ConfigError for an invalid change."""
        self._followers.append(_Follower(keys=keys, take=take, check=check))

    def check(self, new: Config) -> None:
        """Raises ConfigError for a configuration that could not be applied."""
        for follower in self._followers:
            if follower.check is not None:
                follower.check(new)

    def take(self, new: Config) -> Mapping[str, Applies]:
        """Apply the live changes. Returns every changed key, with when its change takes effect."""
        changed = differing(self.config, new)
        now = [key for key, applies in changed.items() if applies == "now"]
        self.config = with_live_keys(self.config, new)
        for follower in self._followers:
            if any(_below(key, follower.keys) for key in now):
                follower.take(self.config)
        return changed


def _below(key: str, beginnings: tuple[str, ...]) -> bool:
    return any(key == start or key.startswith(f"{start}.") for start in beginnings)


class FollowingParts(msgspec.Struct, frozen=True):
    """The parts of a gateway that take over changes."""

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


_IN_PROMPTS = ("agent.name", "agent.persona")
"""Keys that are part of prompts, which conversations keep; plugins add to them."""


async def renew_prompts(
    live: LiveSettings, changed: Mapping[str, Applies], forget: Callable[[], Awaitable[int]]
) -> None:
    """Have every conversation get a new prompt, if the changes are part of it."""
    if any(_below(key, (*_IN_PROMPTS, *live.in_prompts)) for key in changed):
        await forget()
