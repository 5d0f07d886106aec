"""Buttons and slash commands: Discord's interactions, in both directions.

https://discord.com/developers/docs/interactions/receiving-and-responding
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from nanobot.messages import InboundMessage
from nanobot.ports import MenuCommand
from nanobot_channels.common.shapes import BadEvent, shaped
from nanobot_channels.common.text import clean, clipped, one_line
from nanobot_channels.discord.messages import (
    ChannelPlace,
    Content,
    Member,
    User,
    is_snowflake,
    person,
    sent_at,
)

_COMMAND = 2
_COMPONENT = 3
_MOST_COMMANDS = 100
_NAME = re.compile(r"[-_'\w]{1,32}")
_EPHEMERAL = 1 << 6
ASK = "Ask about this"
"""The command in the context menu of a message."""
_ASKS = "What do you say to this message?"
_ON_MESSAGE = 3
_QUOTE_LENGTH = 2000


class _Option(msgspec.Struct):
    name: str = ""
    value: Any = None


class _Author(msgspec.Struct):
    id: str = ""


class _Target(Content):
    author: _Author = msgspec.field(default_factory=_Author)


class _Resolved(msgspec.Struct):
    messages: dict[str, _Target] = {}


class _Data(msgspec.Struct):
    type: int = 1
    target_id: str = ""
    resolved: _Resolved = msgspec.field(default_factory=_Resolved)
    name: str = ""
    custom_id: str = ""
    options: list[_Option] = []


class _Channel(msgspec.Struct):
    type: int = 0
    parent_id: str | None = None


class _MessageId(msgspec.Struct):
    id: str


class Interaction(msgspec.Struct, kw_only=True):
    """The press of a button, or a slash command."""

    id: str
    token: str
    type: int
    application_id: str = ""
    channel_id: str = ""
    guild_id: str | None = None
    locale: str = ""
    channel: _Channel | None = None
    member: Member | None = None
    user: User | None = None
    message: _MessageId | None = None
    data: _Data = msgspec.field(default_factory=_Data)

    @property
    def place(self) -> ChannelPlace:
        """Where it was sent from; threads are channels of types 10 to 12."""
        channel = self.channel or _Channel()
        parent = channel.parent_id if channel.type in {10, 11, 12} else None
        return ChannelPlace(self.guild_id or "", parent or "", several=channel.type == 3)


def is_command(interaction: Interaction) -> bool:
    """Whether it is a slash command."""
    return interaction.type == _COMMAND and interaction.data.type != _ON_MESSAGE


def parse_interaction(data: object) -> Interaction:
    """The interaction in an event. Raises BadEvent."""
    interaction = shaped(data, Interaction)
    if not is_snowflake(interaction.id) or not re.fullmatch(r"[!-~]+", interaction.token):
        raise BadEvent("its id or token cannot be used")
    return interaction


def interaction_message(
    interaction: Interaction, place: ChannelPlace, channel: str
) -> InboundMessage | None:
    """The text of a press or command, None if it says nothing to the bot. Raises BadEvent."""
    if interaction.type not in {_COMMAND, _COMPONENT}:
        return None
    user = interaction.user or (interaction.member.user if interaction.member else None)
    if user is None or not is_snowflake(interaction.channel_id):
        raise BadEvent("nobody, or nowhere")
    data = interaction.data
    if interaction.type == _COMMAND and data.type == _ON_MESSAGE:
        return _about_message(interaction, place, channel, user)
    pressed = interaction.type == _COMPONENT
    text = clean(data.custom_id).strip() if pressed else _typed(data)
    if not text or text == "/":
        return None
    message_id = interaction.message.id if interaction.message else None
    return InboundMessage(
        address=place.address(channel, interaction.channel_id),
        message_id=message_id or interaction.id,
        dedupe_key=f"press:{interaction.id}",
        sender=person(user, interaction.member),
        text=text,
        sent_at=sent_at(int(interaction.id)),
        reply_to=message_id,
        pressed=pressed,
        group=place.group,
        unseen=not pressed,
        language=interaction.locale,
    )


def _about_message(
    interaction: Interaction, place: ChannelPlace, channel: str, user: User
) -> InboundMessage | None:
    """The question about the message that the person chose; the answer is a reply to that
    message.
    """
    target_id = interaction.data.target_id
    target = interaction.data.resolved.messages.get(target_id)
    if target is None or not is_snowflake(target_id):
        return None
    return InboundMessage(
        address=place.address(channel, interaction.channel_id),
        message_id=target_id,
        dedupe_key=f"press:{interaction.id}",
        sender=person(user, interaction.member),
        text=_ASKS,
        sent_at=sent_at(int(interaction.id)),
        reply_to=target_id,
        quote=clipped(target.described() or "(no text)", _QUOTE_LENGTH),
        group=place.group,
        tainted=target.author.id != user.id,
        language=interaction.locale,
    )


def acknowledgement(interaction: Interaction) -> dict[str, Any]:
    """The response that Discord expects within three seconds: an invisible one for a button, and
    for a command a line that only its user sees.
    """
    if interaction.type == _COMPONENT:
        return {"type": 6}
    if interaction.data.type == _ON_MESSAGE:
        return _alone(f"*{ASK}*")
    command = _typed(interaction.data)[:1900].replace("`", "'")
    return _alone(f"`{command}`")


def _typed(data: _Data) -> str:
    """A slash command as if it were typed."""
    words = (str(option.value) for option in data.options if option.value is not None)
    return clean(" ".join([f"/{data.name}", *words])).strip()


def _alone(text: str) -> dict[str, Any]:
    """A message that only the user of the command sees."""
    return {
        "type": 4,
        "data": {"content": text, "flags": _EPHEMERAL, "allowed_mentions": {"parse": []}},
    }


NOT_KEPT = _alone(
    "I could not save this, because the disk is full or the database is down. Try again later."
)
"""The response to a press or a command that was not committed."""


def alone(message: dict[str, Any]) -> dict[str, Any]:
    """The message as only one person sees it."""
    return message | {"flags": message.get("flags", 0) | _EPHEMERAL}


def menu(commands: Sequence[MenuCommand]) -> list[dict[str, Any]]:
    """Application commands, one for each first word, with at most one free argument; and the one in
    the context menu of messages.

    Names are 1 to 32 lowercase letters, descriptions 1 to 100 characters; a bot has at most 100. A
    name that Discord would refuse is left out: it still works when typed in a message.
    """
    entries: dict[str, dict[str, Any]] = {}
    for command in commands:
        first, _, rest = command.name.strip().lstrip("/").lower().partition(" ")
        if not _NAME.fullmatch(first):
            continue
        entry = entries.setdefault(
            first,
            {"name": first, "type": 1, "description": _line(command.help) or first, "options": []},
        )
        usage = _line(f"{rest} {command.usage}")
        if usage and not entry["options"]:
            option = {"type": 3, "name": "argument", "description": usage, "required": False}
            entry["options"] = [option]
    return [*list(entries.values())[:_MOST_COMMANDS], {"name": ASK, "type": _ON_MESSAGE}]


def _line(text: str) -> str:
    return one_line(text)[:100].strip()
