"""What set-up shows: models that could answer, channels, and channels that can be connected."""

from __future__ import annotations

import msgspec

from nanobot.text import Sentence


class ProviderView(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that is known by name."""

    name: str
    title: str
    model: str
    """Its default model."""
    api_base: str
    local: bool
    """A server for local models."""
    has_key: bool
    """A key is configured, or in the environment."""


class FoundModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that could answer here, and why: a key is set, a server runs, or it is included."""

    name: str
    why: Sentence


class TriedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that answered a test question, with the seconds it took and its capabilities.
    `priced`: its price is known."""

    name: str
    seconds: float
    abilities: Sentence
    priced: bool


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
    """An installed type of channel. `person` describes the ids of people there."""

    name: str
    title: str
    steps: Sentence
    docs: str
    person: Sentence
    fields: list[ChannelField]
    only: str = ""
    """The only possible id."""
    knock: Sentence = ""
    """How an owner sends the first message ({bot}: the bot's name there), for `channels meet`; "":
    the type cannot wait for a message."""
    broken: Sentence = ""
    """Why it does not work."""
    grade: str = ""
    """Its grade on the quality scale; "": none."""


class ConnectedChannel(msgspec.Struct, frozen=True, kw_only=True):
    """A channel that its platform accepted and that is now in the configuration: the bot's name
    there, and the missing rights."""

    name: str
    who: str
    lacking: Sentence
    file: str
    owned: bool = False
    """It has an owner."""
    greeted: bool = False
    """The owner got a message there that it is set up."""
    refused: Sentence = ""
    """Why that message failed."""


class MetPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person who wrote to a channel that no gateway serves yet, with the chat."""

    id: str
    name: str
    chat: str


class PersonaView(msgspec.Struct, frozen=True, kw_only=True):
    """A style of the assistant. `chosen`: the one that the next start uses."""

    name: str
    text: str
    chosen: bool


class ChannelView(msgspec.Struct, frozen=True, kw_only=True):
    """A channel of the configuration."""

    name: str
    type: str
    state: str
    """What the gateway says of it."""
    enabled: bool
    owners: list[str]
    members: list[str]
    grade: str = ""
    """That of its type on the quality scale; "": none."""
    lacks: Sentence = ""
    """What it cannot do here, and why; "": nothing."""
