"""Outbound messages as Discord's: Markdown of its kind, buttons, files."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from nanobot.messages import Choice, OutboundKind, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels._discord_markdown import TEXT_LIMIT, escaped, pieces, plain_text
from nanobot_channels._markdown import from_markdown
from nanobot_channels._text import clean, utf16_units

_EMPTY = "(empty message)"
_ROW = 5
_BUTTONS = 25
_LABEL = 80
_CUSTOM_ID = 100
_NONCE = 25
_SUPPRESS_EMBEDS = 1 << 2


class Button(msgspec.Struct):
    """A button; pressing it says `say`."""

    label: str
    say: str


class Payload(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What a part's payload holds. `content` is Discord's Markdown. `answers`: the command that
    this is the whole answer to, which concerns whoever used it alone."""

    content: str = ""
    answers: str | None = None
    reply_to: str | None = None
    buttons: list[Button] = []


def render(message: OutboundMessage) -> list[OutboundPart]:
    """The parts of a message: at least one, each within Discord's limits, in order.

    The first part is the reply; the last one carries the choices as buttons. Attachments are not in
    it: each is a part of its own, which the host makes.
    """
    buttons, others = _buttons(message.choices)
    text = "\n\n".join([message.text, *(f"{other.label}: {other.say}" for other in others)])
    contents = pieces(from_markdown(text)) or pieces(from_markdown(_EMPTY))
    parts = []
    whole = message.kind is OutboundKind.NOTICE and len(contents) == 1
    for number, (content, rich) in enumerate(contents):
        payload = Payload(
            content=content,
            answers=message.reply_to if whole else None,
            reply_to=message.reply_to if number == 0 else None,
            buttons=buttons if number == len(contents) - 1 else [],
        )
        key = f"{message.key}.{number}"
        encoded = msgspec.json.encode(payload)
        parts.append(OutboundPart(text=plain_text(rich), payload=encoded, key=key))
    return parts


def payload_of(part: OutboundPart) -> Payload:
    """The payload of a stored part; raises msgspec.DecodeError if it is not one of ours."""
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def content_of(part: OutboundPart, *, plain: bool = False) -> str:
    """What the message will say: rendered, or the plain text, escaped where that fits."""
    content = payload_of(part).content
    if content and not plain:
        return content
    literal = escaped(part.text)
    return literal if utf16_units(literal) <= TEXT_LIMIT else part.text


def body(part: OutboundPart, *, plain: bool = False) -> dict[str, Any]:
    """The JSON of a message with this part. It pings nobody and shows no link previews."""
    payload = payload_of(part)
    fields: dict[str, Any] = {
        "content": content_of(part, plain=plain),
        "allowed_mentions": {"parse": [], "replied_user": False},
        "flags": _SUPPRESS_EMBEDS,
    }
    if payload.buttons:
        fields["components"] = list(_rows(payload.buttons))
    return fields


def reference(part: OutboundPart) -> dict[str, Any] | None:
    """The message that the part replies to; that it may be deleted by now is no error."""
    reply_to = payload_of(part).reply_to
    if not reply_to or not reply_to.isdecimal():
        return None
    return {"message_id": reply_to, "fail_if_not_exists": False}


def nonce_of(part: OutboundPart) -> str | None:
    """At most 25 characters that stand for the part's key; None without a key."""
    if not part.key:
        return None
    digest = hashlib.sha256(part.key.encode()).digest()
    return base64.b32encode(digest).decode()[:_NONCE].lower()


def _rows(buttons: Sequence[Button]) -> Iterator[dict[str, Any]]:
    for start in range(0, len(buttons), _ROW):
        row = [
            {"type": 2, "style": 2, "label": button.label, "custom_id": button.say}
            for button in buttons[start : start + _ROW]
        ]
        yield {"type": 1, "components": row}


def _buttons(choices: Sequence[Choice]) -> tuple[list[Button], list[Choice]]:
    """At most 25 buttons with different ids, and the choices that cannot be one."""
    buttons: dict[str, Button] = {}
    others = []
    for choice in choices:
        label = " ".join(clean(choice.label).split()) or choice.say
        if choice.say in buttons:
            continue
        fits = 0 < len(choice.say) <= _CUSTOM_ID and utf16_units(label) <= _LABEL
        if fits and len(buttons) < _BUTTONS:
            buttons[choice.say] = Button(label, choice.say)
        else:
            others.append(choice)
    return list(buttons.values()), others
