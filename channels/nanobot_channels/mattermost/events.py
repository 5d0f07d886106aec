"""Mattermost's posts, reactions and pressed buttons as inbound messages."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from nanobot.messages import Address, Attachment, InboundMessage, Sender
from nanobot_channels.common.json_api import Json
from nanobot_channels.common.numbers import moment, size
from nanobot_channels.common.shapes import BadEvent, shaped, string, table, tables
from nanobot_channels.common.text import clean, clipped, file_name, label

_ID = re.compile(r"[a-z0-9]{26}")
_KINDS = {"image", "audio", "video"}
# The types of people's posts; those of the system have other names.
_OF_PEOPLE = {"", "me", "burn_on_read", "slack_attachment"}
_OF_PLUGINS = "custom_"
_QUOTE_LENGTH = 4_000
_SKIN = re.compile("_(?:medium_)?(?:light|medium|dark)_skin_tone$")
_EMOJI = {
    "+1": "👍",
    "thumbsup": "👍",
    "white_check_mark": "✅",
    "heavy_check_mark": "✔",
    "-1": "👎",
    "thumbsdown": "👎",
    "x": "❌",
}


class Bot(msgspec.Struct, frozen=True):
    """The bot itself, from /users/me."""

    id: str
    username: str = ""


class _File(msgspec.Struct, frozen=True):
    id: str
    name: str = ""
    mime_type: str = ""
    size: Any = 0


class _Metadata(msgspec.Struct, frozen=True):
    files: list[_File] | None = None


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """A post from an event or a list of posts. Times are in milliseconds."""

    id: str
    user_id: str
    channel_id: str
    root_id: str = ""
    message: str = ""
    type: str = ""
    create_at: int = 0
    edit_at: int = 0
    delete_at: int = 0
    props: dict[str, Any] | None = None
    metadata: _Metadata | None = None


class Around(msgspec.Struct, frozen=True):
    """Data missing from a post: whether its channel is a direct one, whether the bot takes part in
    its thread, the author's name, and the thread's first post, for the first one that the bot gets.
    """

    direct: bool
    joined: bool = False
    name: str = ""
    root: Post | None = None


def post_of(value: object) -> Post:
    """A post; in events it is JSON within a string. Raises BadEvent."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadEvent("a post that is not JSON") from error
    post = shaped(value, Post)
    if not all(map(_ID.fullmatch, (post.id, post.user_id, post.channel_id))):
        raise BadEvent("a post without its ids")
    return post


def is_of_person(post: Post, bot: Bot) -> bool:
    """Whether a person wrote it: not the system, an integration, or another bot."""
    props = post.props or {}
    makers = ("from_bot", "from_webhook", "from_plugin")
    made = any(props.get(key) in ("true", True) for key in makers)
    personal = post.type in _OF_PEOPLE or post.type.startswith(_OF_PLUGINS)
    return post.user_id != bot.id and personal and not made


def shown(post: Post) -> str:
    """All that is written in a post: integrations write in attachments."""
    words = [post.message]
    for attachment in tables((post.props or {}).get("attachments")):
        fields = tables(attachment.get("fields"))
        own = (string(attachment.get(key)) for key in ("pretext", "title", "text"))
        about = (f"{field.get('title')}: {field.get('value')}" for field in fields)
        written = list(filter(None, [*own, *about]))
        words += written or [string(attachment.get("fallback"))]
    files = (post.metadata or _Metadata()).files or []
    named = ", ".join(f"[{file.kind} {file.name}]" for file in map(_attachment, files))
    return clean("\n".join(filter(None, words))).strip() or named


def mentions(post: Post, bot: Bot) -> bool:
    """Whether it names the bot."""
    return bool(bot.username and _mention(bot).search(post.message))


def inbound(
    post: Post, channel: str, bot: Bot, around: Around, *, edited: bool
) -> InboundMessage | None:
    """The message for nanobot, None if it is empty. Outside of direct channels the answer to a post
    goes into its thread.
    """
    mentioned = mentions(post, bot)
    text = clean(_mention(bot).sub("", post.message) if mentioned else post.message).strip()
    listed = (post.metadata or _Metadata()).files or []
    files = tuple(map(_attachment, listed))
    if not text and not files:
        if not post.type:
            return None
        text = f"[a post of the kind {label(post.type)}, which cannot be read]"
    thread = post.root_id or (None if around.direct else post.id)
    root = around.root
    quote = clipped(shown(root), _QUOTE_LENGTH) if root else ""
    return InboundMessage(
        address=Address(channel, post.channel_id, thread),
        message_id=post.id,
        dedupe_key=f"{post.id}:edit:{post.edit_at}" if edited else post.id,
        sender=Sender(post.user_id, label(around.name.removeprefix("@"))),
        text=text,
        sent_at=moment(post.edit_at if edited else post.create_at, 0.0, per_second=1000),
        attachments=files,
        reply_to=post.root_id or None,
        quote=quote,
        edit_of=post.id if edited else None,
        group=not around.direct,
        addressed=around.direct or mentioned or around.joined,
        tainted=bool(quote) and root is not None and root.user_id not in {post.user_id, bot.id},
    )


def _mention(bot: Bot) -> re.Pattern[str]:
    name = re.escape(bot.username)
    return re.compile(rf"(?<![\w.@-])@{name}(?![\w-]|\.\w)[:,]?[ ]?", re.IGNORECASE)


def _attachment(file: _File) -> Attachment:
    kind = file.mime_type.partition("/")[0]
    return Attachment(
        kind=kind if kind in _KINDS else "document",
        ref=file.id if file.id.isalnum() else "",
        name=file_name(file.name),
        mime=file.mime_type.partition(";")[0].strip(),
        size=size(file.size),
    )


class _Reaction(msgspec.Struct, frozen=True):
    user_id: str
    post_id: str
    emoji_name: str
    create_at: int = 0


def reaction(
    value: object, place: tuple[str, str], bot: Bot, *, direct: bool
) -> InboundMessage | None:
    """A person's positive or negative reaction to a post in `place`, the names of our channel and
    of its channel; None for all others. Raises BadEvent.
    """
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadEvent("a reaction that is not JSON") from error
    read = shaped(value, _Reaction)
    emoji = _EMOJI.get(_SKIN.sub("", read.emoji_name))
    if emoji is None or read.user_id == bot.id or not _ID.fullmatch(place[1]):
        return None
    return InboundMessage(
        address=Address(*place),
        message_id=read.post_id,
        dedupe_key=f"{read.post_id}:{read.user_id}:{emoji}:{read.create_at}",
        sender=Sender(read.user_id),
        text=emoji,
        sent_at=moment(read.create_at, 0.0, per_second=1000),
        reply_to=read.post_id,
        reaction=True,
        group=not direct,
    )


# Buttons


class Button(msgspec.Struct, frozen=True):
    """The context of a button, which Mattermost stores and returns with a press. `key` proves that
    it is ours: Mattermost does not sign its requests.
    """

    say: str
    chat: str
    thread: str = ""
    direct: bool = False
    key: str = ""

    def signed(self, token: str) -> Button:
        return msgspec.structs.replace(self, key=self._digest(token))

    def is_ours(self, token: str) -> bool:
        return hmac.compare_digest(self.key.encode(), self._digest(token).encode())

    def _digest(self, token: str) -> str:
        content = msgspec.json.encode([self.say, self.chat, self.thread, self.direct])
        secret = hashlib.sha256(b"nanobot button " + token.encode()).digest()
        return hmac.new(secret, content, hashlib.sha256).hexdigest()


def pressed(body: bytes, channel: str, token: str, now: float) -> InboundMessage | None:
    """The person who pressed one of our buttons; None if it is not ours. Raises BadEvent."""
    try:
        request: Mapping[str, Any] = table(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadEvent("a request that is not JSON") from error
    button = shaped(request.get("context"), Button)
    if not button.is_ours(token) or request.get("channel_id") != button.chat:
        return None
    person, post = string(request.get("user_id")), string(request.get("post_id"))
    if not _ID.fullmatch(person) or not _ID.fullmatch(post):
        raise BadEvent("a press without who pressed what")
    trigger = hashlib.sha256(string(request.get("trigger_id")).encode()).hexdigest()[:20]
    return InboundMessage(
        address=Address(channel, button.chat, button.thread or None),
        message_id=post,
        dedupe_key=f"{post}:press:{person}:{trigger}",
        sender=Sender(person, label(string(request.get("user_name")))),
        text=button.say,
        sent_at=now,
        reply_to=post,
        pressed=True,
        group=not button.direct,
    )


def is_direct(channel: Json) -> bool:
    """Whether a channel is between the bot and one person."""
    return channel.get("type") == "D"
