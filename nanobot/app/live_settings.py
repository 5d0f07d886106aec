"""The configuration that a gateway works with now, and the parts that can apply changes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # loads more than --help needs
    from nanobot.config.loader import Config


class Follower(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the gateway that applies changes of `keys`, and of all keys below them. `check`
    raises ConfigError for a configuration that it cannot apply."""

    keys: tuple[str, ...]
    take: Callable[[Config], None]
    check: Callable[[Config], object] | None = None


class LiveSettings:
    """The current configuration of a process. Without the plugin `configuration` it is that of the
    start. `in_prompts`: the keys that are part of prompts, which conversations keep."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.followers: list[Follower] = []
        self.in_prompts: tuple[str, ...] = ("agent.name", "agent.persona")

    def follow(
        self,
        *keys: str,
        take: Callable[[Config], None],
        check: Callable[[Config], object] | None = None,
    ) -> None:
        """Have a part apply changes of these keys; see Follower."""
        self.followers.append(Follower(keys=keys, take=take, check=check))
