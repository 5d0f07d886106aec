"""The home of a gateway: the views of it that people see, and the changes that they can make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from nanobot.config.keys import Applies, Kind
from nanobot.config.values import Source
from nanobot.text import Sentence

if TYPE_CHECKING:  # `--help` would load asyncio with it
    from nanobot.workspace.shared_files import SharedFiles


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at: how it is, and what to do about it."""

    about: str
    level: Literal["ok", "warning", "broken"]
    text: Sentence
    remedy: Sentence = ""
    mendable: bool = False

    @property
    def sentences(self) -> str:
        """The text with its remedy, if there is one."""
        return f"{self.text.removesuffix('.')}. {self.remedy}" if self.remedy else self.text


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the configuration with what holds now, secrets as ***. `source`: default, file or
    environment, which wins over the file. `written`: what the next start reads in the file, where
    that differs. `applies`: when a change takes effect. `about` says what the key is for; `kind` is
    its type, with all `choices`, or the range from `least` (without it, if `above`) to `most`."""

    key: str
    value: Any
    source: Source
    written: Any = None
    applies: Applies = "restart"
    about: str = ""
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
    sets them too. The others are as they were."""

    keys: list[str]
    file: str
    applied: list[str] = []
    restart: list[str] = []
    overridden: list[str] = []


class ModelOption(msgspec.Struct, frozen=True, kw_only=True):
    """A model that the configuration names. `use`: default, fallback, or "" for one that is only
    described there."""

    name: str
    use: Literal["default", "fallback", ""] = ""


class ProviderView(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that is known by name. `local`: a server for local models; `has_key`: a key is
    configured, or in the environment; `model`: its default model."""

    name: str
    title: str
    model: str
    api_base: str
    local: bool
    has_key: bool


class FoundModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that could answer here, and why: a key is set, a server runs, or it is included."""

    name: str
    why: Sentence


class PersonaView(msgspec.Struct, frozen=True, kw_only=True):
    """How the assistant may talk, in words. `chosen`: it does from the next start on."""

    name: str
    text: str
    chosen: bool


class TriedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that answered a test question, with the seconds it took and its capabilities.
    `priced`: its price is known."""

    name: str
    seconds: float
    abilities: Sentence
    priced: bool


class PromptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that people and the assistant write for its prompt. `digest` names exactly this
    content; `text` is there where one file is shown. `size` in bytes; None: there is none yet."""

    name: str
    size: int | None
    changed_at: float | None
    digest: str = ""
    text: str = ""


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


class ChannelField(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter wants to know before a channel can be opened. `variable` of the environment
    holds it already; "": none."""

    key: str
    asks: Sentence
    secret: bool
    optional: bool
    many: bool
    usual: str
    variable: str = ""


class ChannelTypeView(msgspec.Struct, frozen=True, kw_only=True):
    """An installed type of channel. `person` describes the ids of people there; `only` is the only
    possible id. `knock`: how an owner sends the first message ({bot}: the bot's name there), for
    `channels meet`; "": the type cannot wait for a message. `broken`: why it does not work.
    `grade`: its grade on the quality scale; "": none."""

    name: str
    title: str
    steps: Sentence
    docs: str
    person: Sentence
    fields: list[ChannelField]
    only: str = ""
    knock: Sentence = ""
    broken: Sentence = ""
    grade: str = ""


class ConnectedChannel(msgspec.Struct, frozen=True, kw_only=True):
    """A channel that its platform accepted and that is now in the configuration: the bot's name
    there, and the missing rights. `owned`: it has an owner. `greeted`: the owner got a message
    there that it is set up; `refused`: why that message failed."""

    name: str
    who: str
    lacking: Sentence
    file: str
    owned: bool = False
    greeted: bool = False
    refused: Sentence = ""


class MetPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person who wrote to a channel that no gateway serves yet, with the chat."""

    id: str
    name: str
    chat: str


class HomeAdmin(Protocol):
    """Reads and changes the home of one gateway. Changes take effect at the next start, unless a
    method says otherwise. All methods raise NanobotError. `files` are the files of the
    workspace."""

    files: SharedFiles

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

    async def examine(self, *, fix: bool) -> list[Finding]:
        """Look at everything, and mend what can be mended if that is wanted."""
        ...

    def restart(self) -> None:
        """Drain, end, and start again with the current configuration."""
        ...

    def models(self) -> list[ModelOption]:
        """Those that the configuration names."""
        ...

    def providers(self) -> list[ProviderView]:
        """Those that are known by name."""
        ...

    async def found_models(self) -> list[FoundModel]:
        """Those that could answer, best first."""
        ...

    def personas(self) -> list[PersonaView]:
        """Those there are."""
        ...

    async def try_model(self, name: str, key: str = "", api_base: str = "") -> TriedModel:
        """Ask it something; with that key, at that address, where they are not empty. Nothing is
        written."""
        ...

    async def prompt_files(self) -> list[PromptFile]:
        """All there are or may be, without their text."""
        ...

    async def prompt_file(self, name: str) -> PromptFile:
        """One with its text."""
        ...

    async def write_prompt_file(self, name: str, text: str, digest: str) -> PromptFile:
        """Write it, if it still is what `digest` says ("": whatever it is)."""
        ...

    async def skill(self, name: str, *, enabled: bool) -> None:
        """Show a skill to the model or not, from its next prompt on."""
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

    async def channel_types(self) -> list[ChannelTypeView]:
        """Those that are installed."""
        ...

    async def connect(
        self,
        channel: str,
        name: str,
        settings: Sequence[str],
        owners: Sequence[str],
        chat: str | None = None,
    ) -> ConnectedChannel:
        """Try a channel of that type (or a table that is there) with these KEY=VALUE, and keep it
        if its platform lets it in. `chat`: greet its owner there ("": where an id says where)."""
        ...

    async def meet(
        self, channel: str, name: str, settings: Sequence[str], others: Sequence[str]
    ) -> MetPerson:
        """Wait until a person who is not in `others` writes to this channel, which is not saved. A
        gateway that serves the channel later still receives the message."""
        ...
