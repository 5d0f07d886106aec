"""What people are told of a home: findings of checks, and what became of changed settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from nanobot.text import Sentence

if TYPE_CHECKING:  # loads more than --help needs
    from nanobot.config.loader import Config


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check, with its remedy. `mendable`: `doctor --fix` can repair it."""

    about: str
    level: Literal["ok", "warning", "broken"]
    text: Sentence
    remedy: Sentence = ""
    mendable: bool = False

    @property
    def sentences(self) -> str:
        """The text with its remedy, if there is one."""
        return f"{self.text.removesuffix('.')}. {self.remedy}" if self.remedy else self.text


class ChangedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that were written, and into which file. Those that are in no other list are as they
    were."""

    keys: list[str]
    file: str
    applied: list[str] = []
    """They took effect at once."""
    restart: list[str] = []
    """They take effect with the next start."""
    overridden: list[str] = []
    """They have no effect, because the environment sets them too."""
    off: list[str] = []
    """Their plugins, which are switched off: until these are on, the keys have no effect."""


class LiveChanges(Protocol):
    """Applies changes of the configuration to one gateway while it runs. A plugin offers it;
    without it, they take effect at the next start."""

    def check(self, new: Config) -> None:
        """Raises ConfigError for a configuration that could not be applied, before it is
        written."""

    async def apply(self, written: ChangedSettings) -> ChangedSettings:
        """Read the configuration again and apply what can be applied at once. Returns the written
        keys with the effects of their changes."""
