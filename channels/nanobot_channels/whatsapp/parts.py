"""Outbound messages in WhatsApp's markup, with reply buttons or a list below the last part."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from nanobot.messages import Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.json_api import Json
from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.common.text import Rich, Style, clipped, one_line, split, with_targets

TEXT_LIMIT = 4_096
"""Characters of a text message."""
BODY_LIMIT = 1_024
"""Characters of the body above buttons or a list, and of a caption."""
MOST_BUTTONS = 3
MOST_ROWS = 10
BUTTON_TITLE = 20
ROW_TITLE = 24
ROW_DESCRIPTION = 72
_ID_LIMIT = 200
# Marks and link targets, which come on top, have this much room.
_TEXT_PIECE = 3_400
_BODY_PIECE = 850
_EMPTY = "(empty message)"
_MARKS = {Style.BOLD: "*", Style.ITALIC: "_", Style.STRIKE: "~", Style.CODE: "`", Style.PRE: "```"}


class Payload(msgspec.Struct, omit_defaults=True):
    """The payload of a part: its text with marks, and its buttons."""

    body: str = ""
    choices: list[tuple[str, str]] = []
    """Pairs of the text to send and the whole label."""


def render(message: OutboundMessage) -> list[OutboundPart]:
    """The parts: at least one, none empty, each within WhatsApp's limits."""
    offered = _offered(message.choices)
    rich = from_markdown(message.text)
    if len(offered) < len(message.choices):
        rich = Rich(f"{rich.text}\n\n{_written(message.choices)}".lstrip("\n"), rich.spans)
        offered = []
    pieces = split(rich, _TEXT_PIECE) or [Rich(_EMPTY)]
    if offered and len(_plain(pieces[-1], BODY_LIMIT)) > _BODY_PIECE:
        pieces[-1:] = split(pieces[-1], _BODY_PIECE)
    parts = []
    for number, piece in enumerate(pieces):
        last = offered if number == len(pieces) - 1 else []
        limit = BODY_LIMIT if last else TEXT_LIMIT
        text, body = _plain(piece, limit), markup(piece)
        payload = Payload(body if len(body) <= limit else text, last)
        parts.append(OutboundPart(text=text, payload=msgspec.json.encode(payload)))
    return parts


def _plain(piece: Rich, limit: int) -> str:
    return with_targets(piece, limit)


def _offered(choices: Sequence[Choice]) -> list[tuple[str, str]]:
    """The choices that can be buttons; fewer than given if not all of them can."""
    offered = {choice.say: one_line(choice.label) or choice.say for choice in choices}
    fits = len(offered) <= MOST_ROWS and all(0 < len(say) <= _ID_LIMIT for say in offered)
    return list(offered.items()) if fits and len(offered) == len(choices) else []


def _written(choices: Sequence[Choice]) -> str:
    return "\n".join(
        f"- {one_line(choice.label) or choice.say}: answer with {choice.say}" for choice in choices
    )


def markup(rich: Rich) -> str:
    """The text with WhatsApp's marks. They work only at the edges of words and within a line, so
    each line of a span is marked separately; code blocks have their marks on separate lines.
    """
    opening: dict[int, list[str]] = {}
    closing: dict[int, list[str]] = {}
    for span in rich.spans:
        text = rich.text[span.start : span.end]
        if span.style is Style.LINK:
            if span.value != text:
                closing.setdefault(span.end, []).insert(0, f" ({span.value})")
            continue
        if span.style is Style.QUOTE:
            at = span.start
            for line in text.split("\n"):
                opening.setdefault(at, []).insert(0, "> ")
                at += len(line) + 1
            continue
        mark = _MARKS[span.style]
        lines = [text] if span.style is Style.PRE else text.split("\n")
        at = span.start
        for line in lines:
            if line.strip():
                opening.setdefault(at, []).append(mark)
                closing.setdefault(at + len(line), []).insert(0, mark)
            at += len(line) + 1
    return _with(rich.text, opening, closing)


def _with(text: str, opening: dict[int, list[str]], closing: dict[int, list[str]]) -> str:
    pieces, at = [], 0
    for place in sorted({*opening, *closing}):
        pieces += [text[at:place], *closing.get(place, ()), *opening.get(place, ())]
        at = place
    return "".join([*pieces, text[at:]])


def payload_of(part: OutboundPart) -> Payload:
    """The payload of a stored part."""
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def content_of(part: OutboundPart, *, plain: bool, previews: bool) -> Json:
    """The fields of the message: text, three reply buttons at most, or a list."""
    payload = payload_of(part)
    body = part.text if plain or not payload.body else payload.body
    if not payload.choices:
        text = {"body": clipped(body, TEXT_LIMIT), "preview_url": previews}
        return {"type": "text", "text": text}
    action = _buttons(payload.choices) or _list(payload.choices)
    kind = "button" if "buttons" in action else "list"
    interactive = {"type": kind, "body": {"text": clipped(body, BODY_LIMIT)}, "action": action}
    return {"type": "interactive", "interactive": interactive}


def _buttons(choices: list[tuple[str, str]]) -> Json:
    """{} if they do not fit, or would have equal labels."""
    titles = [clipped(label, BUTTON_TITLE) for _, label in choices]
    if len(choices) > MOST_BUTTONS or len(set(titles)) < len(titles):
        return {}
    pairs = zip(choices, titles, strict=True)
    replies = [{"id": say, "title": title} for (say, _), title in pairs]
    return {"buttons": [{"type": "reply", "reply": reply} for reply in replies]}


def _list(choices: list[tuple[str, str]]) -> Json:
    rows = []
    for say, label in choices:
        row = {"id": say, "title": clipped(label, ROW_TITLE)}
        if row["title"] != label:
            row["description"] = clipped(label, ROW_DESCRIPTION)
        rows.append(row)
    return {"button": "Choose", "sections": [{"title": "Choose", "rows": rows}]}


def mark_of(part: OutboundPart) -> str:
    """The mark that WhatsApp repeats in each report on this part, which identifies it."""
    return f"nanobot-{hashlib.sha256(part.key.encode()).hexdigest()[:40]}"
