"""The configuration that a gateway works with now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loads more than --help needs
    from nanobot.config.loader import Config


class LiveSettings:
    """The current configuration of a process. Without a plugin that changes it, it is that of the
    start. `in_prompts`: the keys that are part of prompts, which conversations keep."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.in_prompts: tuple[str, ...] = ("agent.name", "agent.persona")
