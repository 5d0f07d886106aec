"""The fields of the Bot API's objects that are read here (https://core.telegram.org/bots/api).

All have defaults where a message can do without them: what Telegram adds or leaves out must not
cost a message.
"""

from __future__ import annotations

from typing import Any

import msgspec


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
    """Any of the objects that stand for a file."""

    file_id: str
    file_name: str = ""
    mime_type: str = ""
    file_size: Any = 0
    width: Any = 0
    title: str = ""
    performer: str = ""


class Sticker(msgspec.Struct):
    """A sticker; those that move come in formats of Telegram's own or as video."""

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
    """Somebody's phone number."""

    phone_number: str = ""
    first_name: str = ""
    last_name: str = ""


class Titled(msgspec.Struct):
    """What is known here by its words only: a poll's option, a task, a game, a checklist."""

    text: str = ""
    title: str = ""
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
    """MessageOrigin: who wrote what was forwarded."""

    sender_user: User | None = None
    sender_user_name: str = ""
    sender_chat: Chat | None = None
    chat: Chat | None = None
    author_signature: str = ""


class Quote(msgspec.Struct):
    """TextQuote: the part of a message that somebody chose to answer."""

    text: str = ""


class ExternalReply(msgspec.Struct):
    """What is answered stands in another chat or topic."""

    message_id: int | None = None
    chat: Chat | None = None


class Message(msgspec.Struct, kw_only=True):
    """A Message, or an InaccessibleMessage, which is only its chat and its number."""

    message_id: int
    chat: Chat
    ephemeral_message_id: int = 0
    date: Any = 0
    edit_date: int = 0
    sender: User | None = msgspec.field(name="from", default=None)
    sender_chat: Chat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    is_automatic_forward: bool = False
    migrate_to_chat_id: int | None = None
    migrate_from_chat_id: int | None = None
    forward_origin: Origin | None = None
    via_bot: User | None = None
    media_group_id: str | None = None
    reply_to_message: Message | None = None
    external_reply: ExternalReply | None = None
    quote: Quote | None = None
    forum_topic_created: dict[str, Any] | None = None
    text: str = ""
    caption: str = ""
    entities: list[Entity] = []
    caption_entities: list[Entity] = []
    photo: list[File] = []
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


class Press(msgspec.Struct, kw_only=True):
    """A CallbackQuery."""

    id: str
    sender: User = msgspec.field(name="from")
    message: Message | None = None
    data: str = ""


class ReactionType(msgspec.Struct):
    """A ReactionType: an emoji, or one of a person's or Telegram's own, which has none."""

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
    """A MessageGenerationStopped: the person of a private chat wants no more of a draft."""

    chat: Chat
    draft_id: int
    message_thread_id: int | None = None


class Update(msgspec.Struct):
    """An Update of one of the kinds that are requested."""

    message: Message | None = None
    edited_message: Message | None = None
    callback_query: Press | None = None
    message_reaction: Reacted | None = None
    stopped_message_generation: Stopped | None = None
