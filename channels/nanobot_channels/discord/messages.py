"""Discord's messages as inbound messages (https://discord.com/developers/docs/resources/message)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from nanobot.messages import Address, Attachment, InboundMessage, Sender
from nanobot_channels.common.numbers import size
from nanobot_channels.common.shapes import BadEvent, shaped
from nanobot_channels.common.text import clean
from nanobot_channels.discord.components import text_of

EPOCH = 1_420_070_400
"""Unix seconds of Discord's snowflake 0."""
_DIGITS = 20
_REPLY = 19
# The flag of a message that Discord's own recorder made.
_VOICE_MESSAGE = 1 << 13
_USER_MESSAGES = {0, _REPLY}
_CODE = re.compile(r"(```[\s\S]*?```|``[^\n]*?``|`[^`\n]*`)")
_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_EMOJI = re.compile(r"<a?(:\w+:)\d+>")


class ChannelPlace(msgspec.Struct, frozen=True):
    """The place of a channel's messages. `parent` is set for a thread."""

    guild: str = ""
    parent: str = ""
    several: bool = False

    @property
    def group(self) -> bool:
        """Whether several people read there."""
        return bool(self.guild) or self.several

    def address(self, channel: str, channel_id: str) -> Address:
        """The chat of a channel in this place."""
        if self.parent:
            return Address(channel, self.parent, channel_id)
        return Address(channel, channel_id)


class BotUser(msgspec.Struct, frozen=True):
    """The bot itself: its user, and its own roles."""

    id: str
    roles: frozenset[str] = frozenset()


# Only the fields in use, with defaults where a message can do without them: a field that Discord
# adds or omits must not cost a message.
class User(msgspec.Struct):
    """A user as Discord shows it."""

    id: str
    username: str = ""
    global_name: str | None = None
    bot: bool = False


class Member(msgspec.Struct):
    """A user's membership of a guild."""

    nick: str | None = None
    user: User | None = None


class UploadedFile(msgspec.Struct):
    """An attachment of a message."""

    id: str
    filename: str = ""
    title: str | None = None
    content_type: str | None = None
    size: Any = 0
    url: str = ""


class _Named(msgspec.Struct):
    name: str = ""
    value: str = ""


class _Text(msgspec.Struct):
    text: str | None = None
    emoji: _Named | None = None

    @property
    def words(self) -> str:
        return self.text or (self.emoji.name if self.emoji else "") or ""


class _Embed(msgspec.Struct):
    title: str | None = None
    description: str | None = None
    url: str | None = None
    author: _Named | None = None
    footer: _Text | None = None
    fields: list[_Named] = []


class _Answer(msgspec.Struct):
    poll_media: _Text = msgspec.field(default_factory=_Text)


class _Poll(msgspec.Struct):
    question: _Text = msgspec.field(default_factory=_Text)
    answers: list[_Answer] = []


class Content(msgspec.Struct, kw_only=True):
    """What a message shows, also a forwarded one."""

    content: str = ""
    components: Any = None
    attachments: list[UploadedFile] = []
    embeds: list[_Embed] = []
    sticker_items: list[_Named] = []
    poll: _Poll | None = None

    @property
    def words(self) -> str:
        """Its text, from content or components."""
        return self.content or text_of(self.components)

    def described(self) -> str:
        """It in words, with its embeds: other bots write in nothing else. Without any, its files
        are named.
        """
        text = clean("\n".join([*_described(self), self.words, *_embedded(self)])).strip()
        return text or ", ".join(f"[{_kind(file)} {_name(file)}]" for file in self.attachments)


class _Forwarded(msgspec.Struct):
    message: Content


class _Reference(msgspec.Struct):
    type: int = 0
    message_id: str | None = None


class Message(Content, kw_only=True):
    """A message, as in gateway events and the history."""

    id: str
    channel_id: str
    author: User
    type: int = 0
    guild_id: str | None = None
    webhook_id: str | None = None
    member: Member | None = None
    flags: Any = 0
    nonce: str | int | None = None
    edited_timestamp: str | None = None
    mentions: list[User] = []
    message_reference: _Reference | None = None
    referenced_message: Message | None = None
    message_snapshots: list[_Forwarded] = []
    activity: dict[str, Any] | None = None
    application: _Named | None = None

    @property
    def files(self) -> list[UploadedFile]:
        """Its own files, and those of the message that it forwards."""
        forwarded = (snapshot.message.attachments for snapshot in self.message_snapshots)
        return [*self.attachments, *(file for files in forwarded for file in files)]

    @property
    def number(self) -> int:
        """The snowflake."""
        return int(self.id)

    @property
    def bare(self) -> bool:
        """A person's message without any content: Discord withheld it."""
        return self.type in _USER_MESSAGES and not (
            self.content
            or self.attachments
            or self.sticker_items
            or self.message_snapshots
            or self.poll
            or self.activity
        )


def is_snowflake(text: str) -> bool:
    """Whether it can be a Discord id: 64 bits, in decimal digits."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS and int(text) < 1 << 63


class Deleted(msgspec.Struct, frozen=True):
    """The deletion of one message, or of several in one channel."""

    channel_id: str
    guild_id: str | None = None
    id: str = ""
    ids: list[str] = []


def sent_at(snowflake: int) -> float:
    """The creation time of an id, in Unix seconds."""
    return (snowflake >> 22) / 1000 + EPOCH


def snowflake_at(seconds: float) -> int:
    """The lowest id of that time, in Unix seconds."""
    return max(int((seconds - EPOCH) * 1000), 0) << 22


def parse(data: object) -> Message:
    """The message in an event or in the history. Raises BadEvent."""
    message = shaped(data, Message)
    if not (is_snowflake(message.id) and is_snowflake(message.channel_id)):
        raise BadEvent("an id is not a number")
    return message


def to_inbound(
    message: Message, place: ChannelPlace, channel: str, me: BotUser, *, edited: bool = False
) -> InboundMessage | None:
    """The message for the bot, None if a bot or the system sent it, or if it is empty."""
    if message.author.bot or message.webhook_id or message.type not in _USER_MESSAGES:
        return None
    if edited and not message.edited_timestamp:
        return None
    attachments = tuple(_attachments(message))
    text = clean("\n".join(_lines(message, me))).strip()
    if not text and not attachments:
        return None
    replied = message.referenced_message
    reference = message.message_reference
    is_reply = message.type == _REPLY and reference is not None
    key = f"edit:{message.id}:{message.edited_timestamp}" if edited else message.id
    return InboundMessage(
        address=place.address(channel, message.channel_id),
        message_id=message.id,
        dedupe_key=key,
        sender=person(message.author, message.member),
        text=text,
        sent_at=sent_at(message.number),
        attachments=attachments,
        reply_to=reference.message_id if reference and is_reply else None,
        quote=_quoted(replied, me) if replied and is_reply else "",
        edit_of=message.id if edited else None,
        group=place.group,
        addressed=not place.group or _is_for(message, me),
        tainted=_others_speak(message, me),
    )


def _others_speak(message: Message, me: BotUser) -> bool:
    """Whether it contains text of third parties, neither the sender's nor the bot's. A forwarded
    message does not name its author.
    """
    if message.message_snapshots:
        return True
    replied = message.referenced_message
    return (
        message.type == _REPLY
        and replied is not None
        and (
            replied.author.id not in {message.author.id, me.id}
            or replied.webhook_id is not None
            or bool(replied.message_snapshots)
        )
    )


def person(user: User, member: Member | None) -> Sender:
    """The sender, with the name that the chat shows."""
    nick = member.nick if member else None
    return Sender(user.id, clean(nick or user.global_name or user.username).replace("\n", " "))


def _is_for(message: Message, me: BotUser) -> bool:
    replied = message.referenced_message
    if message.type == _REPLY and replied and replied.author.id == me.id:
        return True
    prose = "".join(_CODE.split(message.content)[::2])
    if any(user == me.id for user in _USER.findall(prose)):
        return True
    return any(role in me.roles for role in _ROLE.findall(prose))


def _lines(message: Message, me: BotUser) -> Iterator[str]:
    for forwarded in message.message_snapshots:
        yield "[forwarded]"
        yield from _described(forwarded.message)
        yield forwarded.message.words
        yield from _embedded(forwarded.message)
    yield from _described(message)
    if message.activity:
        name = message.application.name if message.application else ""
        yield f"[an invitation to {name or 'an activity'}]"
    yield _readable(message, me)


def _quoted(message: Message, me: BotUser) -> str:
    """A message in words, with its embeds and its files."""
    text = clean("\n".join([*_lines(message, me), *_embedded(message)])).strip()
    return text or message.described()


def _described(content: Content) -> Iterator[str]:
    for sticker in content.sticker_items:
        yield f"[sticker {sticker.name}]"
    if content.poll:
        options = " / ".join(answer.poll_media.words for answer in content.poll.answers)
        yield f"[poll {content.poll.question.text or ''} {options}".rstrip() + "]"


def _embedded(content: Content) -> Iterator[str]:
    for embed in content.embeds:
        author = embed.author.name if embed.author else ""
        footer = embed.footer.text if embed.footer else ""
        about = (author, embed.title, embed.description, embed.url)
        yield from (text for text in about if text)
        yield from (f"{field.name}: {field.value}" for field in embed.fields)
        if footer:
            yield footer


def _readable(message: Message, me: BotUser) -> str:
    """The content with names instead of ids, and without mentions of the bot."""
    names = {user.id: user.global_name or user.username for user in message.mentions}

    def name(match: re.Match[str]) -> str:
        if match[1] == me.id:
            return ""
        return f"@{names[match[1]]}" if names.get(match[1]) else match[0]

    pieces = _CODE.split(message.words)
    for at in range(0, len(pieces), 2):
        prose = _USER.sub(name, pieces[at])
        prose = _ROLE.sub(lambda match: "" if match[1] in me.roles else match[0], prose)
        pieces[at] = _EMOJI.sub(r"\1", prose)
    text = "".join(pieces).strip()
    # A message with only the bot's name wants its attention.
    return text or message.words


def _attachments(message: Message) -> Iterator[Attachment]:
    """The files. Their URLs expire within a day, so the handle says how to request a new one."""
    for file in message.files:
        yield Attachment(
            kind=_kind(file),
            ref=f"{message.channel_id}/{message.id}/{file.id}",
            name=_name(file),
            mime=_mime(file),
            size=size(file.size),
            recorded=bool(size(message.flags) & _VOICE_MESSAGE) and file in message.attachments,
        )


def _mime(file: UploadedFile) -> str:
    return (file.content_type or "").partition(";")[0].strip()


def _kind(file: UploadedFile) -> str:
    major = _mime(file).partition("/")[0]
    return major if major in {"image", "audio", "video"} else "document"


def _name(file: UploadedFile) -> str:
    return clean(file.filename).replace("\n", " ")


def url_of(message: Message, attachment_id: str) -> str | None:
    """The current URL of an attachment."""
    return next((file.url for file in message.files if file.id == attachment_id and file.url), None)
