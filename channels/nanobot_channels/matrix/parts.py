"""Outbound messages as events: the Markdown unchanged, and the HTML that Matrix allows."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.pieces import pieces
from nanobot_channels.common.text import Rich, clean, one_line, split

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LIMIT = 30_000
"""Bytes of body and formatted_body in JSON; a whole event has at most 65,536 (client-server API,
size limits), and its servers add to it.
"""
FORMATTED_LIMIT = 60_000
"""Characters of a text that is formatted; longer texts are sent as written."""
FORMATTED_MARKS = 10_000
"""Marks and line ends of a text that is formatted; texts with more are sent as written."""
MARK = "org.nanobot.part"
"""The field of an event's content that identifies a part."""
_BLURB = 1_000  # characters of an edit for clients that do not support edits
_EMPTY = "(empty message)"
_PLAIN = {"paragraph_open", "paragraph_close", "inline"}
_LITERAL = re.compile(r"[\\&]")
_MARK = re.compile(r"[\\`*_~<>&|\[\n-]|\d[.)]\s")

Json = dict[str, Any]


class Payload(msgspec.Struct, omit_defaults=True):
    """The payload of a part. `html` is empty if it says no more than the text."""

    html: str = ""
    notice: bool = False
    reply_to: str = ""


def render(message: OutboundMessage) -> list[OutboundPart]:
    """The parts of a message: at least one, each within the limit, in order.

    Choices are written out, since Matrix has no buttons. The first part answers `reply_to`.
    """
    text = clean(message.text).strip("\n")
    if not split(Rich(text), max(len(text), 1)):
        text = _EMPTY
    if message.choices:
        text += "\n\n" + "\n".join(
            f"- {one_line(choice.label)}: `{choice.say}`" for choice in message.choices
        )
    formatted = len(text) <= FORMATTED_LIMIT and len(_MARK.findall(text)) <= FORMATTED_MARKS
    rendered: dict[str, str] = {}

    def size(piece: str) -> int:
        rendered[piece] = _html(piece) if formatted else ""
        return len(msgspec.json.encode((piece, rendered[piece])))

    parts = []
    for number, piece in enumerate(pieces(text, LIMIT, LIMIT, size)):
        payload = Payload(
            html=rendered[piece],
            notice=message.kind is OutboundKind.NOTICE,
            reply_to=(message.reply_to or "") if number == 0 else "",
        )
        key = f"{message.key}.{number}"
        parts.append(OutboundPart(text=piece, payload=msgspec.json.encode(payload), key=key))
    return parts


def _html(piece: str) -> str:
    """The Markdown as HTML, "" if it says no more than the text."""
    tokens = _parser().parse(piece)
    inside = {child.type for token in tokens for child in token.children or ()}
    plain = {token.type for token in tokens} <= _PLAIN and inside <= {"text", "softbreak"}
    if plain and not _LITERAL.search(piece):
        return ""
    html: str = _parser().renderer.render(tokens, _parser().options, {})
    return html.strip("\n")


def content(address: Address, part: OutboundPart, *, plain: bool, direct: bool = False) -> Json:
    """A part as the content of m.room.message. In a `direct` chat it is not a reply."""
    payload = _payload(part)
    fields = _words(part, payload, plain=plain)
    if part.key:
        fields[MARK] = mark_of(part)
    relates = relation(address, "" if direct else payload.reply_to)
    return fields | ({"m.relates_to": relates} if relates else {})


def replacement(message_id: str, part: OutboundPart, *, plain: bool) -> Json:
    """A part as the content of an event that replaces an earlier one."""
    words = _words(part, _payload(part), plain=plain)
    return {
        "msgtype": words["msgtype"],
        "body": f"* {part.text[:_BLURB]}",
        "m.mentions": {},
        # Without it other people's clients fetch the links in an answer for previews.
        "com.beeper.linkpreviews": [],
        "m.new_content": words,
        "m.relates_to": {"rel_type": "m.replace", "event_id": message_id},
    }


def relation(address: Address, reply_to: str = "") -> Json:
    """A message's m.relates_to: its thread, and the message that it replies to."""
    reply = {"m.in_reply_to": {"event_id": reply_to or address.thread_id}}
    if address.thread_id:
        thread = {"rel_type": "m.thread", "event_id": address.thread_id}
        return thread | {"is_falling_back": not reply_to} | reply
    return reply if reply_to else {}


def mark_of(part: OutboundPart) -> str:
    """Identifies a part: as a transaction id it makes a repeated request harmless."""
    return f"nanobot-{hashlib.sha256(part.key.encode()).hexdigest()[:40]}"


def _payload(part: OutboundPart) -> Payload:
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def _words(part: OutboundPart, payload: Payload, *, plain: bool) -> Json:
    fields: Json = {
        "msgtype": "m.notice" if payload.notice else "m.text",
        "body": part.text,
        # Without it a name, or @room, in the model's text would notify people.
        "m.mentions": {},
        # And without this other clients would fetch the links for previews.
        "com.beeper.linkpreviews": [],
    }
    if payload.html and not plain:
        fields |= {"format": "org.matrix.custom.html", "formatted_body": payload.html}
    return fields


@cache
def _parser() -> MarkdownIt:
    from nanobot_channels.common.html import html_parser  # noqa: PLC0415 - its 30 ms can wait

    return html_parser()
