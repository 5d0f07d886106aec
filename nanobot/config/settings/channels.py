"""Where people talk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from nanobot.config.settings.base import Settings, Unfit, about


class ChatSettings(Settings, frozen=True, kw_only=True):
    """`[channels.NAME.chats.ID]`: one group, by the platform's id."""

    groups: Annotated[
        Literal["", "mention", "all", "off"],
        about("What the assistant hears in this group. Empty: as its channel has it."),
    ] = ""
    members: Annotated[tuple[str, ...], about("People who are members in this group only.")] = ()


class ChannelSettings(Settings, frozen=True, kw_only=True):
    """`[channels.NAME]`: one chat platform. NAME is part of every address, so rename it with care.
    Each type has further keys, such as its token.

    `settings` contains these further keys (token, api_root ...) with references resolved.
    """

    type: Annotated[str, about("Adapter of this channel, by default the table's name.")]
    enabled: Annotated[bool, about("Whether this channel is served.")] = True
    owners: Annotated[tuple[str, ...], about("Ids of people who may do everything.")] = ()
    members: Annotated[
        tuple[str, ...], about("Ids of people who may talk to the assistant. `*`: everyone.")
    ] = ()
    guests: Annotated[
        tuple[str, ...],
        about("Ids of people who may talk to the assistant without tools. `*`: everyone."),
    ] = ()
    pairing: Annotated[
        bool, about("Whether strangers get a code with which an owner can let them in.")
    ] = True
    groups: Annotated[
        Literal["mention", "all", "off"],
        about("What the assistant hears in groups: mentions, everything, or nothing."),
    ] = "mention"
    prefix: Annotated[
        str,
        Meta(max_length=64),
        about("How a message in a group begins that is meant for the assistant."),
    ] = ""
    chats: Annotated[Mapping[str, ChatSettings], about("Groups with separate settings.")] = {}
    preview: Annotated[bool, about("Whether answers are shown while they are written.")] = True
    show_tools: Annotated[bool, about("Whether a preview shows the tool at work.")] = False
    marks: Annotated[bool, about("Whether messages get reactions that show their state.")] = False
    link_previews: Annotated[bool, about("Whether links in answers show a preview.")] = False
    max_attachment_mb: Annotated[
        int,
        Meta(ge=1, le=2_000),
        about("Largest file that is fetched; the sender of a larger one is told.", unit="MB"),
    ] = 20
    settings: Annotated[Mapping[str, Any], about("Further keys of the adapter.")] = {}

    def __post_init__(self) -> None:
        if "*" in self.owners:
            raise Unfit("owners", "a list of ids, not everybody")

    @classmethod
    def completed(cls, values: dict[str, Any], name: str) -> dict[str, Any]:
        return {"type": name, **values}

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Which of an adapter's settings is secret, only the adapter knows: show their keys.
        *own, _ = super().__rich_repr__()
        return [*own, ("settings", sorted(self.settings))]
