"""Outbound messages for Discord: the Markdown unchanged, as content or in components."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec

from nanobot.messages import OutboundKind, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.common.text import utf16_units, with_targets
from nanobot_channels.discord.buttons import Button, buttons_of, rows
from nanobot_channels.discord.components import IS_COMPONENTS_V2, has_table, layout
from nanobot_channels.discord.components import TEXT_LIMIT as COMPONENTS_LIMIT
from nanobot_channels.discord.markdown import TEXT_LIMIT, contents, escaped, shown

SUPPRESS_EMBEDS = 1 << 2

_EMPTY = "(empty message)"
_NONCE = 25


class Payload(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The payload of a part. `content` is Discord's Markdown. `look`: "" as content, "text" in
    components, "box" in a box. `answers`: the command to which this is the complete answer, for its
    user alone.
    """

    content: str = ""
    look: str = ""
    answers: str | None = None
    reply_to: str | None = None
    buttons: list[Button] = []


def render(message: OutboundMessage, *, components: bool = True) -> list[OutboundPart]:
    """The parts of a message: at least one, each within Discord's limits, in order.

    The first part is the reply; the last one carries the choices as buttons. With `components`
    questions (and their replacements) are in a box, and so are tables; a text that is too long for
    content has twice the room. Attachments are not included: the host makes each a separate part.
    """
    buttons, others = buttons_of(message.choices)
    others_say = (f"{other.label}: {other.say}" for other in others)
    text = shown("\n\n".join([message.text, *others_say]))
    boxed = bool(buttons or message.replaces)
    pieces = contents(text)
    components = components and (boxed or len(pieces) > 1 or any(map(has_table, pieces)))
    if components:
        pieces = contents(text, COMPONENTS_LIMIT)
    pieces = pieces or [_EMPTY]
    whole = message.kind is OutboundKind.NOTICE and len(pieces) == 1
    parts = []
    for number, content in enumerate(pieces):
        last = number == len(pieces) - 1
        payload = Payload(
            content=content,
            look=("box" if boxed and last else "text") if components else "",
            answers=message.reply_to if whole else None,
            reply_to=message.reply_to if number == 0 else None,
            buttons=buttons if last else [],
        )
        encoded = msgspec.json.encode(payload)
        parts.append(OutboundPart(text=content, payload=encoded, key=f"{message.key}.{number}"))
    return parts


def payload_of(part: OutboundPart) -> Payload:
    """The payload of a stored part; raises msgspec.DecodeError if it is not one of ours."""
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def content_of(part: OutboundPart, *, plain: bool = False) -> str:
    """The text of the message: Markdown, or plain words, escaped where that fits."""
    payload = payload_of(part)
    if payload.content and not plain:
        return payload.content
    limit = COMPONENTS_LIMIT if payload.look else TEXT_LIMIT
    words = part.text
    if payload.content:
        words = with_targets(from_markdown(payload.content), limit, utf16_units) or words
    literal = escaped(words)
    return literal if utf16_units(literal) <= limit else words


def has_components(part: OutboundPart) -> bool:
    """Whether it consists of components."""
    return bool(payload_of(part).look)


def body(
    part: OutboundPart, *, plain: bool = False, previews: bool = False, components: bool = False
) -> dict[str, Any]:
    """The JSON of a message with this part, in components if it has a look or they are wanted. It
    pings no user, and shows link previews only if told so.
    """
    payload = payload_of(part)
    content = content_of(part, plain=plain)
    fields: dict[str, Any] = {"allowed_mentions": {"parse": [], "replied_user": False}}
    if payload.look or components:
        shown = layout(content, payload.buttons, boxed=payload.look == "box")
        return fields | {"flags": IS_COMPONENTS_V2, "components": shown}
    fields |= {"content": content, "flags": 0 if previews else SUPPRESS_EMBEDS}
    if payload.buttons:
        fields["components"] = list(rows(payload.buttons))
    return fields


def reference(part: OutboundPart) -> dict[str, Any] | None:
    """The message that the part replies to; it is not an error if it has been deleted."""
    reply_to = payload_of(part).reply_to
    if not reply_to or not reply_to.isdecimal():
        return None
    return {"message_id": reply_to, "fail_if_not_exists": False}


def nonce_of(part: OutboundPart) -> str | None:
    """At most 25 characters that identify the part's key; None without a key."""
    if not part.key:
        return None
    digest = hashlib.sha256(part.key.encode()).digest()
    return base64.b32encode(digest).decode()[:_NONCE].lower()
