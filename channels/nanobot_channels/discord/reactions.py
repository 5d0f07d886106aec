"""Reactions on Discord, as its gateway reports them.

https://discord.com/developers/docs/events/gateway-events#message-reaction-add
"""

from __future__ import annotations

import msgspec

from nanobot.messages import Address, InboundMessage, Sender
from nanobot_channels.common.shapes import BadEvent, shaped
from nanobot_channels.discord.messages import (
    BotUser,
    ChannelPlace,
    Member,
    User,
    is_snowflake,
    person,
)


class _Emoji(msgspec.Struct):
    id: str | None = None
    name: str | None = None


class Reaction(msgspec.Struct, kw_only=True):
    """A person's emoji on a message."""

    user_id: str
    channel_id: str
    message_id: str
    emoji: _Emoji
    guild_id: str | None = None
    member: Member | None = None
    message_author_id: str | None = None

    def is_for(self, me: BotUser) -> bool:
        """Whether it is a person's, on a message of the bot, and not a custom emoji of a server."""
        author = self.message_author_id or me.id
        return author == me.id and self.user_id != me.id and not self.emoji.id


def parse_reaction(data: object) -> Reaction:
    """The reaction in an event. Raises BadEvent."""
    reaction = shaped(data, Reaction)
    if not all(map(is_snowflake, (reaction.user_id, reaction.channel_id, reaction.message_id))):
        raise BadEvent("an id is not a number")
    return reaction


def reaction_message(
    reaction: Reaction, place: ChannelPlace, channel: str, now: float
) -> InboundMessage | None:
    """The reaction as a message, None for another bot's. Discord gives it neither an id nor
    a time.
    """
    user = reaction.member.user if reaction.member else None
    if user is not None and user.bot:
        return None
    sender = Sender(reaction.user_id) if user is None else person(user, reaction.member)
    emoji = reaction.emoji.name or ""
    return InboundMessage(
        address=place.address(channel, reaction.channel_id),
        message_id=reaction.message_id,
        dedupe_key=f"reaction:{reaction.message_id}:{reaction.user_id}:{emoji}",
        sender=msgspec.structs.replace(sender, id=reaction.user_id),
        text=emoji,
        sent_at=now,
        reply_to=reaction.message_id,
        reaction=True,
        group=place.group,
    )


# Missed reactions

MOST_EMOJI = 10
"""The most emoji of one message; each takes a call of its own."""


class _Count(msgspec.Struct):
    emoji: _Emoji


class _Reacted(msgspec.Struct):
    reactions: list[_Count] = []


def emoji_of(data: object) -> list[str]:
    """The emoji on a message, without custom emoji of a server. Raises BadEvent."""
    message = shaped(data, _Reacted)
    names = [count.emoji.name for count in message.reactions if not count.emoji.id]
    return [name for name in names if name][:MOST_EMOJI]


def reactions_by(users: object, emoji: str, address: Address, message_id: str) -> list[Reaction]:
    """The reactions of these users, with one emoji, to a message there. Raises BadEvent."""
    people = shaped(users, list[User])
    return [
        Reaction(
            user_id=user.id,
            channel_id=address.thread_id or address.chat_id,
            message_id=message_id,
            emoji=_Emoji(name=emoji),
            member=Member(user=user),
        )
        for user in people
    ]
