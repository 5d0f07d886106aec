"""WhatsApp's webhooks as inbound messages.

https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from loguru import logger

from nanobot.messages import Address, Attachment, InboundMessage, Sender, deletion
from nanobot_channels.common.numbers import moment
from nanobot_channels.common.shapes import BadEvent, shaped, string, table, tables
from nanobot_channels.common.text import clean, file_name, label, one_line

_FILES = {"image": "image", "sticker": "image", "video": "video", "audio": "audio"}
_FILES |= {"voice": "audio", "document": "document"}
_ID = re.compile(r"\S{1,256}")
_PERSON = re.compile(r"[1-9]\d{4,19}|[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")


class _Context(msgspec.Struct, frozen=True):
    id: str = ""
    forwarded: bool = False
    frequently_forwarded: bool = False


class Message(msgspec.Struct, frozen=True):
    """A message of a person. Without a phone number (`sender`) it has a business-scoped id."""

    id: str
    type: str
    sender: str = msgspec.field(default="", name="from")
    user_id: str = msgspec.field(default="", name="from_user_id")
    group_id: str = ""
    timestamp: Any = 0
    context: _Context = _Context()


class Status(msgspec.Struct, frozen=True):
    """The outcome of one of our messages. `mark` is the mark it was sent with."""

    id: str
    status: str = ""
    recipient_id: str = ""
    recipient_user_id: str = ""
    mark: str = msgspec.field(default="", name="biz_opaque_callback_data")
    errors: list[dict[str, Any]] = []

    @property
    def chat(self) -> str:
        return self.recipient_id or self.recipient_user_id


class Moved(msgspec.Struct, frozen=True):
    """A person has changed their number."""

    old: str
    new: str


def events(body: object, number: str, channel: str) -> Iterator[InboundMessage | Status | Moved]:
    """The events about our number in a request, in order; unreadable ones are logged."""
    for entry in tables(table(body).get("entry")):
        for change in tables(entry.get("changes")):
            value = table(change.get("value"))
            ours = table(value.get("metadata")).get("phone_number_id") == number
            if change.get("field") != "messages" or not ours:
                continue
            names = dict(_names(value))
            for kind, read in (("statuses", _status), ("messages", _message)):
                for item in tables(value.get(kind)):
                    try:
                        event = read(item, names, channel)
                    except BadEvent as error:
                        logger.warning("{}: one of its {} is skipped: {}", channel, kind, error)
                        continue
                    if event is not None:
                        yield event


def _names(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for contact in tables(value.get("contacts")):
        profile = table(contact.get("profile"))
        name = label(string(profile.get("name")) or string(profile.get("username")))
        for key in ("wa_id", "user_id"):
            if contact.get(key):
                yield string(contact[key]), name


def _status(item: Mapping[str, Any], _names: Mapping[str, str], _channel: str) -> Status:
    return shaped(item, Status)


def _message(
    item: Mapping[str, Any], names: Mapping[str, str], channel: str
) -> InboundMessage | Moved | None:
    message = shaped(item, Message)
    person = message.sender or message.user_id
    if not _ID.fullmatch(message.id) or not _PERSON.fullmatch(person):
        raise BadEvent("it has no id or no sender")
    if message.group_id:
        return None  # groups are another product, which this channel does not serve
    if message.type == "system":
        return _moved(item, person)
    content, original = table(item.get(message.type)), ""
    if message.type == "revoke":
        return deletion(Address(channel, person), string(content.get("original_message_id")))
    kind = message.type
    if kind == "edit":
        original, inner = string(content.get("original_message_id")), table(content.get("message"))
        kind = string(inner.get("type"))
        content = table(inner.get(kind))
        item = inner
    forwarded = message.context.forwarded or message.context.frequently_forwarded
    text, files = _content(kind, content, item), _files(kind, content, forwarded=forwarded)
    if not text and not files:
        logger.info("{}: a message of the kind {!r} cannot be read", channel, message.type)
        return None
    if forwarded and kind != "reaction":
        text = f"[forwarded]\n{text}".strip()  # so that no forwarded text is a command
    reaction = kind == "reaction"
    return InboundMessage(
        address=Address(channel, person),
        message_id=original or message.id,
        dedupe_key=message.id,
        sender=Sender(person, names.get(message.sender) or names.get(message.user_id, "")),
        text=text,
        sent_at=moment(message.timestamp, 0.0),
        attachments=files,
        reply_to=string(content.get("message_id")) if reaction else message.context.id or None,
        edit_of=original or None,
        pressed=kind in {"interactive", "button"},
        reaction=reaction,
        tainted=forwarded or kind == "contacts",
    )


def _moved(item: Mapping[str, Any], old: str) -> Moved | None:
    system = table(item.get("system"))
    new = string(system.get("wa_id")) or string(system.get("new_wa_id"))
    told = string(system.get("type")) in {"user_changed_number", "customer_changed_number"}
    return Moved(old, new) if told and _PERSON.fullmatch(new) and new != old else None


def _content(kind: str, content: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    """The text of a message; "" for a removed reaction."""
    if kind == "location":
        return _location(content)
    if kind == "contacts":
        return "\n".join(map(_contact, tables(item.get("contacts"))))
    if kind == "interactive":
        content = table(content.get(string(content.get("type"))))
    # For a button below a template, one below a question, a text, a file.
    keys = {"button": "payload", "interactive": "id", "text": "body", "reaction": "emoji"}
    return clean(string(content.get(keys.get(kind, "caption")))).strip()


def _location(content: Mapping[str, Any]) -> str:
    words = (string(content.get("name")), string(content.get("address")))
    about = one_line(", ".join(word for word in words if word))
    place = f"{content.get('latitude')}, {content.get('longitude')}"
    return f"[location: {one_line(place)}{f', {about}' if about else ''}]"


def _contact(contact: Mapping[str, Any]) -> str:
    name = one_line(string(table(contact.get("name")).get("formatted_name")))
    phones = (one_line(string(phone.get("phone"))) for phone in tables(contact.get("phones")))
    return f"[contact: {', '.join(word for word in (name, *phones) if word)}]"


def _files(kind: str, content: Mapping[str, Any], *, forwarded: bool) -> tuple[Attachment, ...]:
    number = string(content.get("id"))
    if kind not in _FILES or not number.isalnum():
        return ()
    mime = string(content.get("mime_type")).partition(";")[0].strip()
    name = file_name(string(content.get("filename")))
    spoken = content.get("voice") is True and not forwarded
    kind = _FILES[kind]
    return (Attachment(kind=kind, ref=number, name=name, mime=mime, recorded=spoken),)
