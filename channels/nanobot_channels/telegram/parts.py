"""Outbound messages as parts of the Bot API: text with entities (never a parse mode), buttons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from nanobot.messages import Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.common.text import Rich, Style, clean, label, split, utf16_units, with_targets
from nanobot_channels.telegram.rich import pages, rich_html

TEXT_LIMIT = 4096
"""UTF-16 units in one message (Bot API, sendMessage)."""
ENTITY_LIMIT = 100
"""Entities in one message; the server ignores the others (limits.tginfo.me, not in the Bot API)."""
_SAY_BYTES = 64
_BUTTONS = 100
_SHORT = 14
_EMPTY = "(empty message)"

_TYPES = {
    Style.BOLD: "bold",
    Style.ITALIC: "italic",
    Style.STRIKE: "strikethrough",
    Style.CODE: "code",
    Style.PRE: "pre",
    Style.LINK: "text_link",
    Style.QUOTE: "blockquote",
}


class Entity(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A MessageEntity; offset and length in UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


class Button(msgspec.Struct):
    """An InlineKeyboardButton whose press comes back as a callback_query."""

    text: str
    callback_data: str


class Piece(msgspec.Struct, omit_defaults=True):
    """A text with entities, within the limits of one message."""

    text: str
    entities: list[Entity] = []


class Payload(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The payload of a part. `text` is set if it differs from the plain fallback.

    With `html` the part is a rich message, and `pieces` are the messages that replace it if the
    server does not support those.
    """

    text: str | None = None
    entities: list[Entity] = []
    reply_to: str | None = None
    buttons: list[list[Button]] = []
    html: str = ""
    pieces: list[Piece] = []


def render(message: OutboundMessage, *, rich: bool = True) -> list[OutboundPart]:
    """The parts of a message: at least one, each within Telegram's limits, in order.

    A text that entities cannot show, or that is too long for one message, becomes a rich message if
    the chat accepts them (`rich`); a text that is too long for one of those is divided between
    blocks. In groups, where others may have written meanwhile, the first part is a reply. The last
    one carries the choices as buttons; those that cannot be buttons are written out. The plain
    fallback has link targets written out where they fit. Attachments are not included: the host
    makes each a separate part.
    """
    pressable, others = _sorted(message.choices)
    lines = [": ".join(filter(None, (other.label, other.say))) for other in others]
    text = "\n\n".join([message.text, *lines])
    payloads: list[tuple[str, Payload]] = []
    for page in pages(text) if rich else [text]:
        payloads += _page(page, rich=rich)
    in_group = message.address.chat_id.startswith("-")
    parts = []
    for number, (plain, payload) in enumerate(payloads):
        payload.reply_to = message.reply_to if in_group and number == 0 else None
        payload.buttons = _rows(pressable) if number == len(payloads) - 1 else []
        encoded = msgspec.json.encode(payload)
        parts.append(OutboundPart(text=plain, payload=encoded, key=f"{message.key}.{number}"))
    return parts


def _page(text: str, *, rich: bool) -> list[tuple[str, Payload]]:
    """A text as one rich message or as several with entities, each with its plain fallback."""
    pieces = _pieces(text)
    plain = [with_targets(piece, TEXT_LIMIT, utf16_units) for piece in pieces]
    html = rich_html(text, TEXT_LIMIT) if rich else ""
    if html:
        instead = [Piece(piece.text, list(_entities(piece))) for piece in pieces]
        return [("\n".join(plain), Payload(html=html, pieces=instead))]
    return [
        (
            fallback,
            Payload(
                text=None if fallback == piece.text else piece.text, entities=list(_entities(piece))
            ),
        )
        for fallback, piece in zip(plain, pieces, strict=True)
    ]


def _pieces(text: str) -> list[Rich]:
    rich = from_markdown(text)
    return split(rich, TEXT_LIMIT, measure=utf16_units, max_spans=ENTITY_LIMIT) or [Rich(_EMPTY)]


def plain_pieces(text: str) -> list[str]:
    """A plain text as the messages that it takes."""
    return [piece.text for piece in split(Rich(text), TEXT_LIMIT, measure=utf16_units)]


def payload_of(part: OutboundPart) -> Payload:
    """The payload of a stored part; raises msgspec.DecodeError if it is not one of ours."""
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def _entities(piece: Rich) -> Iterator[Entity]:
    at = unit = 0
    for span in piece.spans:
        unit += utf16_units(piece.text[at : span.start])
        at = span.start
        yield Entity(
            type=_TYPES[span.style],
            offset=unit,
            length=utf16_units(piece.text[span.start : span.end]),
            url=span.value if span.style is Style.LINK else None,
            language=span.value or None if span.style is Style.PRE else None,
        )


def _sorted(choices: Sequence[Choice]) -> tuple[list[Choice], list[Choice]]:
    """Those that can be buttons (callback data has 1 to 64 bytes, Bot API), and the others."""
    fit = [0 < len(clean(choice.say).encode()) <= _SAY_BYTES for choice in choices]
    can = [choice for choice, fits in zip(choices, fit, strict=True) if fits][:_BUTTONS]
    return can, [choice for choice in choices if choice not in can]


def _rows(choices: Sequence[Choice]) -> list[list[Button]]:
    """Two short buttons in a row, others in separate rows, all in order."""
    rows: list[list[Button]] = []
    for choice in choices:
        button = Button(label(choice.label) or clean(choice.say), clean(choice.say))
        short = len(button.text) <= _SHORT
        if short and rows and len(rows[-1]) == 1 and len(rows[-1][0].text) <= _SHORT:
            rows[-1].append(button)
        else:
            rows.append([button])
    return rows
