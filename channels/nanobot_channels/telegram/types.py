"""The fields of the Bot API's objects that are read here (https://core.telegram.org/bots/api).

All have defaults where a message can do without them: a field that Telegram adds or omits must not
cost a message.
"""

from __future__ import annotations

from typing import Any

import msgspec

DIRECT = "direct-"
"""Begins the thread of one person's messages to a channel, before the number of their topic."""


class BotUser(msgspec.Struct, frozen=True):
    """The bot itself, from getMe."""

    id: int
    username: str = ""


class User(msgspec.Struct):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""
    language_code: str = ""


class Chat(msgspec.Struct):
    """A private chat, group, supergroup or channel."""

    id: int
    type: str = "private"
    title: str = ""
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class Entity(msgspec.Struct):
    """A formatted range of a text, in UTF-16 units."""

    type: str = ""
    offset: int = 0
    length: int = 0
    url: str = ""
    language: str = ""
    user: User | None = None


class File(msgspec.Struct):
    """Any of the objects that represent a file."""

    file_id: str
    file_name: str = ""
    mime_type: str = ""
    file_size: Any = 0
    width: Any = 0
    title: str = ""
    performer: str = ""


class Sticker(msgspec.Struct):
    """A sticker; animated ones have Telegram's own formats or are videos."""

    file_id: str
    emoji: str = ""
    set_name: str = ""
    file_size: Any = 0
    is_animated: bool = False
    is_video: bool = False


class Location(msgspec.Struct):
    """A point on the map; `live_period` is given while it moves."""

    latitude: float
    longitude: float
    live_period: int = 0


class Venue(msgspec.Struct):
    """A place with a name."""

    location: Location
    title: str = ""
    address: str = ""


class Contact(msgspec.Struct):
    """A person's phone number."""

    phone_number: str = ""
    first_name: str = ""
    last_name: str = ""


class Titled(msgspec.Struct):
    """An object of which only the text is used: a poll's option, a task, a game, an invoice."""

    text: str = ""
    title: str = ""
    description: str = ""
    tasks: list[Titled] = []


class Poll(msgspec.Struct):
    """A poll or a quiz."""

    question: str = ""
    options: list[Titled] = []


class Dice(msgspec.Struct):
    """A throw of one of Telegram's games of chance."""

    emoji: str = ""
    value: Any = 0


class Origin(msgspec.Struct):
    """MessageOrigin: the author of a forwarded message."""

    sender_user: User | None = None
    sender_user_name: str = ""
    sender_chat: Chat | None = None
    chat: Chat | None = None
    author_signature: str = ""


class Quote(msgspec.Struct):
    """TextQuote: the part of a message that a person chose to answer."""

    text: str = ""


class RichMessage(msgspec.Struct):
    """A text in blocks; rich_text.py reads them."""

    blocks: Any = None


class PaidItem(msgspec.Struct):
    """A PaidMedia; without a file, it is the preview of one that nobody has bought."""

    photo: list[File] = []
    video: File | None = None
    live_photo: File | None = None


class PaidMedia(msgspec.Struct):
    """PaidMediaInfo: files that are for sale."""

    star_count: Any = 0
    paid_media: list[PaidItem] = []


class Content(msgspec.Struct, kw_only=True):
    """The content of a message other than its text, also of one in another chat."""

    photo: list[File] = []
    live_photo: File | None = None
    animation: File | None = None
    document: File | None = None
    voice: File | None = None
    audio: File | None = None
    video: File | None = None
    video_note: File | None = None
    sticker: Sticker | None = None
    location: Location | None = None
    venue: Venue | None = None
    contact: Contact | None = None
    poll: Poll | None = None
    dice: Dice | None = None
    game: Titled | None = None
    checklist: Titled | None = None
    story: dict[str, Any] | None = None
    paid_media: PaidMedia | None = None
    giveaway: dict[str, Any] | None = None
    giveaway_winners: dict[str, Any] | None = None
    invoice: Titled | None = None
    rich_message: RichMessage | None = None


class ExternalReply(Content, kw_only=True):
    """The answered message is in another chat or topic."""

    message_id: int | None = None
    chat: Chat | None = None


class DirectMessagesTopic(msgspec.Struct):
    """One person's messages to a channel."""

    topic_id: int


class Message(Content, kw_only=True):
    """A Message, or an InaccessibleMessage, which has only its chat and its number."""

    message_id: int
    chat: Chat
    ephemeral_message_id: int = 0
    date: Any = 0
    edit_date: int = 0
    sender: User | None = msgspec.field(name="from", default=None)
    sender_chat: Chat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    direct_messages_topic: DirectMessagesTopic | None = None
    is_automatic_forward: bool = False
    migrate_to_chat_id: int | None = None
    migrate_from_chat_id: int | None = None
    forward_origin: Origin | None = None
    via_bot: User | None = None
    media_group_id: str | None = None
    reply_to_message: Message | None = None
    external_reply: ExternalReply | None = None
    reply_to_story: dict[str, Any] | None = None
    quote: Quote | None = None
    forum_topic_created: dict[str, Any] | None = None
    text: str = ""
    caption: str = ""
    entities: list[Entity] = []
    caption_entities: list[Entity] = []


class Press(msgspec.Struct, kw_only=True):
    """A CallbackQuery."""

    id: str
    sender: User = msgspec.field(name="from")
    message: Message | None = None
    data: str = ""


class ReactionType(msgspec.Struct):
    """A ReactionType: an emoji, or a custom one or one of Telegram's own, which have no emoji."""

    emoji: str = ""


class Reacted(msgspec.Struct, kw_only=True):
    """A MessageReactionUpdated: the reactions of one person, or of the chat that they act as,
    before and after."""

    chat: Chat
    message_id: int
    user: User | None = None
    actor_chat: Chat | None = None
    date: Any = 0
    old_reaction: list[ReactionType] = []
    new_reaction: list[ReactionType] = []


class Stopped(msgspec.Struct):
    """A MessageGenerationStopped: the person in a private chat stopped a draft."""

    chat: Chat
    draft_id: int
    message_thread_id: int | None = None


class Update(msgspec.Struct):
    """An Update of one of the requested kinds."""

    message: Message | None = None
    edited_message: Message | None = None
    callback_query: Press | None = None
    message_reaction: Reacted | None = None
    stopped_message_generation: Stopped | None = None
