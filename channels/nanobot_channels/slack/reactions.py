"""Reactions on Slack (https://docs.slack.dev/reference/events/reaction_added)."""

from __future__ import annotations

import msgspec

from nanobot.messages import Address, InboundMessage, Sender
from nanobot_channels.common.numbers import moment
from nanobot_channels.common.shapes import BadEvent, shaped
from nanobot_channels.slack.events import BotUser, dedupe_key, is_direct, is_ts

_EMOJI = {
    "+1": "👍",
    "thumbsup": "👍",
    "white_check_mark": "✅",
    "heavy_check_mark": "✔",
    "ballot_box_with_check": "☑",
    "-1": "👎",
    "thumbsdown": "👎",
    "x": "❌",
    "heavy_multiplication_x": "✖",
}


class _Item(msgspec.Struct, frozen=True):
    type: str = ""
    channel: str = ""
    ts: str = ""


class _Reaction(msgspec.Struct, frozen=True):
    user: str
    reaction: str
    item: _Item
    item_user: str = ""
    event_ts: str = ""


def reaction_message(event: object, me: BotUser, channel: str) -> InboundMessage | None:
    """A person's positive or negative reaction to a message of the bot, None for all others: Slack
    names emoji by words. The event does not name the thread. Raises BadEvent.
    """
    reaction = shaped(event, _Reaction)
    chat, ts = reaction.item.channel, reaction.item.ts
    emoji = _EMOJI.get(reaction.reaction.partition("::")[0])  # a skin tone follows
    if emoji is None or reaction.item.type != "message" or reaction.user in {"", me.user_id}:
        return None
    if reaction.item_user not in {"", me.user_id}:
        return None
    if not chat or not is_ts(ts):
        raise BadEvent("a reaction without chat or message")
    return InboundMessage(
        address=Address(channel, chat),
        message_id=ts,
        dedupe_key=f"{dedupe_key(chat, ts)}:{reaction.user}:{emoji}:{reaction.event_ts}",
        sender=Sender(reaction.user),
        text=emoji,
        sent_at=moment(reaction.event_ts, 0.0),
        reply_to=ts,
        reaction=True,
        group=not is_direct(chat),
    )


class _Standing(msgspec.Struct, frozen=True):
    name: str
    users: list[str] = []


class _Reacted(msgspec.Struct, frozen=True):
    reactions: list[_Standing] = []


def standing_reactions(
    message: object, place: tuple[str, str], me: BotUser, channel: str
) -> list[InboundMessage]:
    """The reactions to a message of the bot in `place`, its chat and ts, from reactions.get: for
    each person as when it was added. Raises BadEvent.
    """
    chat, ts = place
    reacted = shaped(message, _Reacted)
    item = {"type": "message", "channel": chat, "ts": ts}
    events = (
        {"user": user, "reaction": reaction.name, "item": item}
        for reaction in reacted.reactions
        for user in reaction.users
    )
    messages = (reaction_message(event, me, channel) for event in events)
    return [message for message in messages if message is not None]
