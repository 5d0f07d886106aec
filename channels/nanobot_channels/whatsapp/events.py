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
# For a button below a template, one below a question, a text, a reaction; else a file's caption.
_KEYS = {"button": "payload", "interactive": "id", "text": "body", "reaction": "emoji"}
# Events of the chat and not content: a person opened it, a reaction was removed.
_SILENT = {"request_welcome", "reaction"}
_UNSUPPORTED = {"unsupported", "unknown", "errors"}
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
    said, files = _said(kind, content), _files(kind, content, forwarded=forwarded)
    text = said or "\n".join(_described(kind, content, item, bare=not files))
    if not text and not files:
        return None
    text = "\n".join([*_occasion(item), text]).strip()
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
        pressed=kind in {"interactive", "button"} and bool(said),
        reaction=reaction,
        tainted=forwarded or kind == "contacts",
    )


def _moved(item: Mapping[str, Any], old: str) -> Moved | None:
    system = table(item.get("system"))
    new = string(system.get("wa_id")) or string(system.get("new_wa_id"))
    told = string(system.get("type")) in {"user_changed_number", "customer_changed_number"}
    return Moved(old, new) if told and _PERSON.fullmatch(new) and new != old else None


def _said(kind: str, content: Mapping[str, Any]) -> str:
    """The text of a message, or what a pressed button says."""
    if kind == "interactive":
        content = table(content.get(string(content.get("type"))))
    said = string(content.get(_KEYS.get(kind, "caption")))
    if kind == "button":
        said = said or string(content.get("text"))
    return clean(said).strip()


def _described(
    kind: str, content: Mapping[str, Any], item: Mapping[str, Any], *, bare: bool
) -> Iterator[str]:
    """Content that is neither text nor a file, in words. Something is said of every kind: a person
    does not know which of them a bot cannot read.
    """
    if kind == "location":
        yield _location(content)
    elif kind == "contacts":
        yield from map(_contact, tables(item.get("contacts")))
    elif kind == "order":
        yield from _order(content)
    elif kind == "interactive":
        yield _form(content)
    elif kind in _UNSUPPORTED:
        yield _note("a message that WhatsApp does not pass on", string(content.get("type")))
    elif bare and kind not in _SILENT:
        yield _note("a message that cannot be read", kind)


def _note(what: str, about: str) -> str:
    about = label(about)
    return f"[{what}: {about}]" if about else f"[{what}]"


def _order(content: Mapping[str, Any]) -> Iterator[str]:
    items = "; ".join(map(_ordered, tables(content.get("product_items"))))
    yield f"[order: {items}]" if items else "[order]"
    text = clean(string(content.get("text"))).strip()
    if text:
        yield text


def _ordered(item: Mapping[str, Any]) -> str:
    count, product = label(str(item.get("quantity"))), label(str(item.get("product_retailer_id")))
    price = item.get("item_price")
    each = f" for {price} {string(item.get('currency'))} each" if price is not None else ""
    return label(f"{count} of {product}{each}")


def _form(content: Mapping[str, Any]) -> str:
    """The answer to something that another program sent through the same number."""
    kind = string(content.get("type"))
    words = (one_line(text) for text in table(content.get(kind)).values() if isinstance(text, str))
    return f"[{label(kind) or 'interactive'}: {', '.join(filter(None, words))}]"


def _occasion(item: Mapping[str, Any]) -> Iterator[str]:
    """The product or the advertisement from which a person wrote, in words."""
    product = table(table(item.get("context")).get("referred_product"))
    if product:
        yield _note("about the product", string(product.get("product_retailer_id")))
    advertisement = table(item.get("referral"))
    if advertisement:
        keys = ("headline", "body", "source_url")
        words = (one_line(string(advertisement.get(key))) for key in keys)
        yield f"[came from the advertisement: {', '.join(filter(None, words))}]"


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
    if kind not in _FILES:
        return ()
    number = string(content.get("id"))
    error = "" if number.isalnum() else "WhatsApp does not say where this file is"
    mime = string(content.get("mime_type")).partition(";")[0].strip()
    name = file_name(string(content.get("filename")))
    spoken = content.get("voice") is True and not forwarded
    kind = _FILES[kind]
    return (
        Attachment(
            kind=kind,
            ref="" if error else number,
            name=name,
            mime=mime,
            error=error,
            recorded=spoken,
        ),
    )
