"""The home of a gateway: the views of it that people see, and the changes that they can make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from nanobot.seam.faces import Interface
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


Examination: TypeAlias = Callable[[Mapping[str, str]], Awaitable[list[Finding]]]
"""Gives all findings about a home, from its environment. Nothing is changed."""
EXAMINATION: Interface[Examination] = Interface("examination")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway says of itself. `serving` False: the store is open, but nothing runs.
    `addressed`: the channels that a message can be sent to. `watches`: what those of the machine
    saw last. `role`: what of it all this process does. `troubles`: what failed lately. `lacks`:
    what channels cannot do, and why."""

    version: str
    home: str
    pid: int
    serving: bool
    channels: Mapping[str, str]
    addressed: tuple[str, ...] = ()
    web: str = ""
    watches: Mapping[str, str] = {}
    role: str = "all"
    troubles: tuple[str, ...] = ()
    lacks: Mapping[str, Sentence] = {}


class ChangedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that were written, and into which file. Of these, `applied` took effect at once;
    `restart` take effect with the next start; `overridden` have no effect, because the environment
    sets them too. The others are as they were. `off`: the plugins of these keys that are switched
    off; until they are on, their keys have no effect."""

    keys: list[str]
    file: str
    applied: list[str] = []
    restart: list[str] = []
    overridden: list[str] = []
    off: list[str] = []


class PluginView(msgspec.Struct, frozen=True, kw_only=True):
    """An installed plugin: its purpose, and whether it is on. `package`: its distribution; "": it
    is built in. `why`: the reason why it is off, or its failure. `brings`: the kinds of things that
    it adds."""

    name: str
    summary: Sentence
    state: Literal["on", "off", "failed"]
    why: Sentence = ""
    package: str = ""
    brings: list[str] = []


class LiveChanges(Protocol):
    """Applies changes of the configuration to one gateway while it runs. A plugin offers it;
    without it, they take effect at the next start."""

    def check(self, new: Config) -> None:
        """Raises ConfigError for a configuration that could not be applied, before it is
        written."""
        ...

    async def apply(self, written: ChangedSettings) -> ChangedSettings:
        """Read the configuration again and apply what can be applied at once. Returns the written
        keys with the effects of their changes."""
        ...
