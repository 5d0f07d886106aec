"""The contents of a room's events. Nothing here calls the homeserver."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from nanobot.messages import Attachment
from nanobot_channels.common.numbers import moment, size
from nanobot_channels.common.shapes import BadEvent, listed, shaped, string, table
from nanobot_channels.common.text import clean, one_line

_KINDS = {"m.image": "image", "m.audio": "audio", "m.video": "video", "m.file": "document"}
_VOICE = {"org.matrix.msc3245.voice", "org.matrix.msc3245.voice.v2", "m.voice"}
# Bots send notices to people and never answer notices, so that two bots cannot loop.
# Both names are in use: the first since Matrix 1.7, the second by clients that are older.
POLLS = {
    "m.poll.start": "m.poll",
    "org.matrix.msc3381.poll.start": "org.matrix.msc3381.poll.start",
}
_POLL_TEXTS = ("m.text", "org.matrix.msc1767.text")
_UNHEARD = {"m.notice", "m.server_notice", "m.key.verification.request"}
_MXC = re.compile(r"mxc://([\w.:\[\]-]+)/([\w-]+)")
_FALLBACK = re.compile(r"(?:> ?[^\n]*(?:\n|$))+\n?")
_BEHIND = " \t\n,:;"

Json = dict[str, Any]


class Event(msgspec.Struct, frozen=True):
    """One event of a room's timeline or state."""

    type: str
    sender: str = ""
    event_id: str = ""
    origin_server_ts: Any = 0
    content: Json = {}
    state_key: str | None = None
    unsigned: Json = {}
    redacts: Any = None

    def sent_at(self, otherwise: float) -> float:
        """The time of sending as its server claims, in Unix seconds; `otherwise` if that is
        invalid.
        """
        return moment(self.origin_server_ts, otherwise, per_second=1000)


class MessageContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a person's message. `edit_of` is the event that it replaces, `html` its
    formatted text, `quote` the text that it quotes from the event that it answers.
    """

    text: str
    html: str = ""
    attachments: tuple[Attachment, ...] = ()
    mentions: frozenset[str] = frozenset()
    edit_of: str = ""
    reply_to: str = ""
    thread: str = ""
    quote: str = ""


class BotUser(msgspec.Struct, frozen=True):
    """The bot: its user id and its name in a room."""

    user_id: str
    name: str = ""


def convert(value: object) -> Event:
    """Decode an event. Raises BadEvent."""
    return shaped(value, Event, strict=True)


def message_content(event: Event) -> MessageContent | None:
    """A message's content; None for other events, notices, and redacted messages.

    Raises BadEvent.
    """
    kinds = {"m.room.message", "m.sticker", *POLLS}
    if event.type not in kinds or event.state_key is not None:
        return None
    if not event.content:
        return None
    if not event.event_id or not event.sender:
        raise BadEvent("a message without event_id or sender")
    outer = event.content
    relates = table(outer.get("m.relates_to"))
    kind, target = string(relates.get("rel_type")), string(relates.get("event_id"))
    replaces = kind == "m.replace" and bool(target)
    content = table(outer.get("m.new_content")) if replaces else outer
    if string(content.get("msgtype")) in _UNHEARD:
        return None
    reply_to, thread = _about(relates)
    text, quote = _words(content, answers=bool(reply_to) or bool(thread))
    if event.type in POLLS:
        text = _poll(table(content.get(POLLS[event.type])))
    attachments = _attachments(event.type, content)
    if not text and not attachments:
        return None
    return MessageContent(
        text=text,
        html=string(content.get("formatted_body")),
        attachments=attachments,
        mentions=_mentions(outer) | _mentions(content),
        edit_of=target if replaces else "",
        reply_to=reply_to,
        thread=thread,
        quote=quote,
    )


def redacted(event: Event) -> str:
    """The event that this one deletes; "" for other events."""
    if event.type != "m.room.redaction" or event.state_key is not None:
        return ""
    return string(event.redacts) or string(event.content.get("redacts"))


def reaction(event: Event) -> tuple[str, str] | None:
    """The event and the reaction to it; None for other events, including redacted ones. Raises
    BadEvent.
    """
    if event.type != "m.reaction" or event.state_key is not None or not event.content:
        return None
    if not event.event_id or not event.sender:
        raise BadEvent("a reaction without event_id or sender")
    relates = table(event.content.get("m.relates_to"))
    target, key = string(relates.get("event_id")), string(relates.get("key"))
    if string(relates.get("rel_type")) != "m.annotation" or not target or not key:
        raise BadEvent("a reaction to nothing")
    return target, key


def _about(relates: Json) -> tuple[str, str]:
    """The event that it answers, and the root of its thread."""
    thread = (
        string(relates.get("event_id")) if string(relates.get("rel_type")) == "m.thread" else ""
    )
    reply_to = string(table(relates.get("m.in_reply_to")).get("event_id"))
    # For clients without threads, every message in a thread seems to answer the previous one.
    falling_back = bool(thread) and relates.get("is_falling_back") is True
    return "" if falling_back else reply_to, thread


def _words(content: Json, *, answers: bool) -> tuple[str, str]:
    """Its text, and the quote in front of it (clients did this up to version 1.13)."""
    msgtype, body = string(content.get("msgtype")), clean(string(content.get("body")))
    quote = ""
    if answers and body.startswith("> "):
        match = _FALLBACK.match(body)
        if match and match.end() < len(body):
            quote = "\n".join(line[2:] for line in match[0].strip("\n").split("\n"))
            quote = re.sub(r"^(?:\* )?<[^>\n]+> ", "", quote)
            body = body[match.end() :]
    body = body.strip()
    if msgtype in _KINDS or not msgtype:
        name = string(content.get("filename"))
        return (body if name and name != body else ""), quote
    if msgtype == "m.location":
        place = string(content.get("geo_uri"))
        return f"[place: {body} {place}]".replace(" ]", "]"), quote
    return (f"*{body}*" if msgtype == "m.emote" and body else body), quote


def _poll(poll: Json) -> str:
    """The question and the answers in words."""
    question = _poll_text(table(poll.get("question")))
    answers = (_poll_text(table(answer)) for answer in listed(poll.get("answers")))
    said = f"[poll: {question} {' / '.join(filter(None, answers))}"
    return f"{said.strip()}]"


def _poll_text(content: Json) -> str:
    """A text in one line: a string, or the first of several forms of the same text."""
    for key in _POLL_TEXTS:
        forms = [table(form).get("body") for form in listed(content.get(key))]
        for text in (content.get(key), *forms):
            if isinstance(text, str):
                return one_line(text)
    return ""


def _attachments(kind: str, content: Json) -> tuple[Attachment, ...]:
    msgtype = "m.image" if kind == "m.sticker" else string(content.get("msgtype"))
    if msgtype not in _KINDS:
        return ()
    info = table(content.get("info"))
    url = string(content.get("url"))
    error = ""
    if not media(url):
        encrypted = bool(table(content.get("file")))
        error = "the file is encrypted" if encrypted else "the message does not say where it is"
    name = string(content.get("filename")) or string(content.get("body"))
    return (
        Attachment(
            kind=_KINDS[msgtype],
            ref="" if error else url,
            name=one_line(name[:1000]),
            mime=string(info.get("mimetype")),
            size=size(info.get("size")),
            error=error,
            recorded=msgtype == "m.audio" and not _VOICE.isdisjoint(content),
        ),
    )


def media(uri: str) -> tuple[str, str] | None:
    """Server and id of an mxc:// address; None if it is not one."""
    match = _MXC.fullmatch(uri)
    return (match[1], match[2]) if match else None


def _mentions(content: Json) -> frozenset[str]:
    ids = listed(table(content.get("m.mentions")).get("user_ids"))
    return frozenset(user_id for user_id in ids if isinstance(user_id, str))


def means(it: MessageContent, me: BotUser) -> bool:
    """Whether the bot is mentioned: as specified, by a link to it, or by a name that occurs in the
    text as a separate word.
    """
    if me.user_id in it.mentions or f"matrix.to/#/{me.user_id}" in it.html:
        return True
    words = "|".join(map(re.escape, _names(me)))
    return bool(re.search(rf"(?<![\w@])(?:{words})(?!\w)", it.text, re.IGNORECASE))


def without_name(it: MessageContent, me: BotUser) -> str:
    """The text without the bot's name in front of it, unless nothing else is left."""
    for name in _names(me):
        if it.text[: len(name)].casefold() != name.casefold():
            continue
        rest = it.text[len(name) :]
        called = me.user_id in it.mentions or name.startswith("@")
        if rest[:1] in {":", ",", ";"} or (called and (not rest or rest[0] in _BEHIND)):
            return rest.lstrip(_BEHIND) or it.text
    return it.text


def _names(me: BotUser) -> list[str]:
    local = me.user_id.partition(":")[0]
    display_name = clean(me.name).strip()
    return [
        name
        for name in (me.user_id, local, f"@{display_name}" if display_name else "", display_name)
        if len(name) > 1
    ]
