"""The home of a gateway: the views of it that people see, and the changes that they can make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from nanobot.config.keys import Applies, Kind
from nanobot.config.values import Source
from nanobot.seam.faces import Interface
from nanobot.text import Sentence

if TYPE_CHECKING:  # `--help` would load asyncio with them
    import asyncio


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


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the configuration with its effective value, secrets as ***. `source`: default, file
    or environment, which overrides the file. `written`: the file's value, if it differs.
    `applies`: when a change takes effect. `about` describes the key; `kind` is its type, with all
    `choices`, or the range from `least` (excluded, if `above`) to `most`."""

    key: str
    value: Any
    source: Source
    written: Any = None
    applies: Applies = "restart"
    about: Sentence = ""
    kind: Kind | Literal[""] = ""
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: bool = False
    default: Any = None


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


class ModelOption(msgspec.Struct, frozen=True, kw_only=True):
    """A model that the configuration names. `use`: default, fallback, or "" for one that is only
    described there."""

    name: str
    use: Literal["default", "fallback", ""] = ""


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


class ChannelView(msgspec.Struct, frozen=True, kw_only=True):
    """A channel of the configuration. `state` is what the gateway says of it, `grade` that of its
    type on the quality scale; "": none."""

    name: str
    type: str
    state: str
    enabled: bool
    owners: list[str]
    members: list[str]
    grade: str = ""


class HomeAdmin(Protocol):
    """Reads and changes the home of one gateway. Changes take effect at the next start, unless a
    method says otherwise. All methods raise NanobotError."""

    changing: asyncio.Lock
    """Held while the configuration is changed."""

    def settings(self, key: str) -> list[SettingView]:
        """A key, or all below a table; "": all of them."""
        ...

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the configuration."""
        ...

    async def change(
        self, values: Mapping[str, str | None], *, force: bool = False
    ) -> ChangedSettings:
        """Write keys; None removes a key, so that its default applies. Refuses an unknown model
        unless `force` is set."""
        ...

    def restart(self) -> None:
        """Drain, end, and start again with the current configuration."""
        ...

    def models(self) -> list[ModelOption]:
        """Those that the configuration names."""
        ...

    def plugins(self) -> list[PluginView]:
        """Those that are installed."""
        ...

    async def switch_plugin(self, name: str, *, on: bool) -> PluginView:
        """Switch one on or off, from the next start on. Raises UnknownId."""
        ...

    def channels(self) -> list[ChannelView]:
        """Those of the configuration."""
        ...
