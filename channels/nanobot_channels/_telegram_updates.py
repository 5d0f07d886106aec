"""Updates of the Bot API as inbound messages (https://core.telegram.org/bots/api#update)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from nanobot.bus.events import Address, Attachment, InboundMessage, Sender
from nanobot_channels._text import clean

ALLOWED_UPDATES = ("message", "edited_message", "callback_query")


class BadUpdate(ValueError):
    """The update lacks what a message needs, or has it in a shape the Bot API does not know."""


class Me(msgspec.Struct, frozen=True):
    """The bot itself, as getMe tells."""

    id: int
    username: str = ""


# Only the fields in use, all with defaults where a message can do without them: what Telegram
# adds or leaves out must not cost a message.
class _User(msgspec.Struct):
    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class _Chat(msgspec.Struct):
    id: int
    type: str = "private"
    title: str = ""


class _Entity(msgspec.Struct):
    type: str = ""
    offset: int = 0
    length: int = 0
    url: str = ""
    user: _User | None = None


class _File(msgspec.Struct):
    file_id: str
    file_name: str = ""
    mime_type: str = ""
    file_size: int = 0
    width: int = 0
    emoji: str = ""
    title: str = ""


class _Location(msgspec.Struct):
    latitude: float
    longitude: float


class _Venue(msgspec.Struct):
    location: _Location
    title: str = ""
    address: str = ""


class _Contact(msgspec.Struct):
    phone_number: str = ""
    first_name: str = ""
    last_name: str = ""


class _Option(msgspec.Struct):
    text: str = ""


class _Poll(msgspec.Struct):
    question: str = ""
    options: list[_Option] = []


class _Button(msgspec.Struct):
    text: str = ""
    callback_data: str = ""


class _Keyboard(msgspec.Struct):
    inline_keyboard: list[list[_Button]] = []


class _Message(msgspec.Struct, kw_only=True):
    message_id: int
    chat: _Chat
    date: float = 0.0
    edit_date: int = 0
    sender: _User | None = msgspec.field(name="from", default=None)
    sender_chat: _Chat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    media_group_id: str | None = None
    reply_to_message: _Message | None = None
    forum_topic_created: dict[str, Any] | None = None
    reply_markup: _Keyboard | None = None
    text: str = ""
    caption: str = ""
    entities: list[_Entity] = []
    caption_entities: list[_Entity] = []
    photo: list[_File] = []
    animation: _File | None = None
    document: _File | None = None
    voice: _File | None = None
    audio: _File | None = None
    video: _File | None = None
    video_note: _File | None = None
    sticker: _File | None = None
    location: _Location | None = None
    venue: _Venue | None = None
    contact: _Contact | None = None
    poll: _Poll | None = None


class _Press(msgspec.Struct, kw_only=True):
    id: str
    sender: _User = msgspec.field(name="from")
    message: _Message | None = None
    data: str = ""


class _Update(msgspec.Struct):
    message: _Message | None = None
    edited_message: _Message | None = None
    callback_query: _Press | None = None


def update_id(update: object) -> int | None:
    """The update's number, None if it has none."""
    number = update.get("update_id") if isinstance(update, dict) else None
    return number if isinstance(number, int) else None


def press_id(update: object) -> str | None:
    """The id that answerCallbackQuery wants, if the update is the press of a button."""
    press = update.get("callback_query") if isinstance(update, dict) else None
    return str(press["id"]) if isinstance(press, dict) and "id" in press else None


def is_from_group(update: object) -> bool:
    """Whether converting the update takes knowing who the bot is."""
    for kind in ("message", "edited_message"):
        message = update.get(kind) if isinstance(update, dict) else None
        chat = message.get("chat") if isinstance(message, dict) else None
        if isinstance(chat, dict) and chat.get("type") in {"group", "supergroup"}:
            return True
    return False


def to_inbound(update: object, channel: str, me: Me | None) -> InboundMessage | None:
    """The message in an update, None if there is none for the bot.

    Not for it are: other kinds of updates, service messages, other bots' messages, and in groups
    everything but mentions of it, replies to it and commands for it. Raises BadUpdate.
    """
    try:
        parsed = msgspec.convert(update, _Update, strict=False)
    except msgspec.ValidationError as error:
        raise BadUpdate(str(error)) from error
    if parsed.callback_query:
        return _from_press(parsed.callback_query, channel)
    message = parsed.message or parsed.edited_message
    if message is None:
        return None
    key = str(message.message_id)
    if message is parsed.edited_message:
        key = f"edit:{message.message_id}:{message.edit_date}"
    return _from_message(message, key, channel, me)


def _from_press(press: _Press, channel: str) -> InboundMessage | None:
    if press.message is None or press.sender.is_bot:
        return None
    text = clean(press.data).strip()
    if not text:
        return None
    return InboundMessage(
        address=_address(press.message, channel),
        message_id=str(press.message.message_id),
        dedupe_key=f"press:{press.id}",
        sender=_person(press.sender),
        text=text,
        sent_at=press.message.date,
        reply_to=str(press.message.message_id),
    )


def _from_message(
    message: _Message, key: str, channel: str, me: Me | None
) -> InboundMessage | None:
    if message.sender and message.sender.is_bot:
        return None
    text = _body(message)
    in_group = message.chat.type in {"group", "supergroup"}
    if in_group and (me is None or not _is_for(message, me)):
        return None
    attachments = tuple(_attachments(message))
    text = _without_mention(text, me)
    lines = [_placeholder(item) for item in attachments] + _described(message)
    text = clean("\n".join([*lines, text])).strip()
    if not text:
        return None
    replied = message.reply_to_message
    return InboundMessage(
        address=_address(message, channel),
        message_id=str(message.message_id),
        dedupe_key=key,
        sender=_sender(message),
        text=text,
        sent_at=message.date,
        attachments=attachments,
        group_id=message.media_group_id,
        reply_to=str(replied.message_id) if replied and not _opens_topic(message) else None,
    )


def _address(message: _Message, channel: str) -> Address:
    # Replies in groups without topics have a message_thread_id too; it is no place to write to.
    thread = message.message_thread_id if message.is_topic_message else None
    return Address(channel, str(message.chat.id), None if thread is None else str(thread))


def _sender(message: _Message) -> Sender:
    if message.sender:
        return _person(message.sender)
    chat = message.sender_chat or message.chat
    return Sender(str(chat.id), clean(chat.title))


def _person(user: _User) -> Sender:
    name = f"{user.first_name} {user.last_name}".strip() or user.username
    return Sender(str(user.id), clean(name))


def _opens_topic(message: _Message) -> bool:
    """Whether the reply is only Telegram's way to say which topic the message is in."""
    replied = message.reply_to_message
    return replied is not None and (
        replied.forum_topic_created is not None
        or (message.is_topic_message and replied.message_id == message.message_thread_id)
    )


def _is_for(message: _Message, me: Me) -> bool:
    replied = message.reply_to_message
    if replied and replied.sender and replied.sender.id == me.id and not _opens_topic(message):
        return True
    entities = message.entities or message.caption_entities
    if any(_mentions(entity, me) for entity in entities):
        return True
    return bool(_mention(me).search(message.text or message.caption))


def _mentions(entity: _Entity, me: Me) -> bool:
    return entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id


def _mention(me: Me) -> re.Pattern[str]:
    if not me.username:
        return re.compile(r"(?!)")
    return re.compile(rf"(?<![\w@])(/\w+)?@{re.escape(me.username)}(?!\w)", re.IGNORECASE)


def _without_mention(text: str, me: Me | None) -> str:
    """The text without "@bot", also at the end of a command; as it is if nothing else is in it."""
    if me is None or "@" not in text:
        return text
    mention = _mention(me)
    if not mention.search(text):
        return text
    rest = re.sub(r"[ \t]{2,}", " ", mention.sub(r"\1", text)).strip()
    return rest or text


def _body(message: _Message) -> str:
    """Text or caption; targets of links that show only a text are written out behind them."""
    text = message.text or message.caption
    entities = message.entities if message.text else message.caption_entities
    links = [entity for entity in entities if entity.type == "text_link" and entity.url]
    if not links:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    for entity in sorted(links, key=lambda entity: entity.offset, reverse=True):
        end = 2 * max(entity.offset + entity.length, 0)
        added = f" ({entity.url})".encode("utf-16-le", "surrogatepass")
        units = units[:end] + added + units[end:]
    return units.decode("utf-16-le", "replace")


def _attachments(message: _Message) -> list[Attachment]:
    files: list[tuple[str, _File | None]] = [
        ("photo", max(message.photo, key=lambda file: (file.width, file.file_size), default=None)),
        ("animation", message.animation),
        # Telegram repeats an animation as a document, for old clients.
        ("document", None if message.animation else message.document),
        ("voice", message.voice),
        ("audio", message.audio),
        ("video", message.video),
        ("video_note", message.video_note),
        ("sticker", message.sticker),
    ]
    return [
        Attachment(
            kind=kind,
            ref=file.file_id,
            name=clean(file.file_name or file.title or file.emoji).replace("\n", " "),
            mime=file.mime_type,
            size=file.file_size,
        )
        for kind, file in files
        if file
    ]


def _placeholder(item: Attachment) -> str:
    """For example "[document report.pdf, 120 KB]"; a size only where there is a name."""
    label = f"{item.kind.replace('_', ' ')} {item.name}".strip()
    if not item.size or item.kind not in {"document", "audio", "video"}:
        return f"[{label}]"
    return f"[{label}, {_size(item.size)}]"


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    if count < 1024 * 1024:
        return f"{count / 1024:.0f} KB"
    return f"{count / 1024 / 1024:.1f} MB"


def _described(message: _Message) -> list[str]:
    """Content that is no file and no text, in words."""
    found = []
    if message.venue:
        venue = message.venue
        found.append(f"[venue {venue.title}, {venue.address}, {_point(venue.location)}]")
    elif message.location:
        found.append(f"[location {_point(message.location)}]")
    if message.contact:
        contact = message.contact
        name = f"{contact.first_name} {contact.last_name}".strip()
        found.append(f"[contact {name}, {contact.phone_number}]")
    if message.poll:
        options = " / ".join(option.text for option in message.poll.options)
        found.append(f"[poll {message.poll.question} {options}]")
    return found


def _point(location: _Location) -> str:
    return f"{location.latitude:.6f}, {location.longitude:.6f}"
