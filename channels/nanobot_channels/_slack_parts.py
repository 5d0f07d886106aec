"""Outbound messages as Slack's blocks: rich text, which nothing parses, so that no text of a model
becomes a mention or breaks the formatting around it; and buttons."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import msgspec

from nanobot.messages import Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels._markdown import Table, from_markdown, tables
from nanobot_channels._slack_text import escape
from nanobot_channels._text import Rich, Span, Style, clean, split

TEXT_LIMIT = 3000
"""Characters of one message: the limit of a section block; that of rich text is not documented."""
PLAIN_LIMIT = 4000
"""Characters of the plain text: Slack's advice; it cuts at 40,000 (chat.postMessage)."""
SPAN_LIMIT = 100
"""Spans of one message: the JSON of all blocks may be some 13,000 characters (not documented)."""
BUTTONS_IN_BLOCK = 25
"""Elements of an actions block."""
TABLE_ROWS = 100
TABLE_COLUMNS = 20
TABLE_BYTES = 10_000
"""Slack counts 10,000 characters in the cells of a table; its JSON is longer."""
LABEL_LIMIT = 75
"""Characters on a button."""
URL_LIMIT = 2000
METADATA_TYPE = "nanobot_part"
ACTION_PREFIX = "nanobot."
_EMPTY = "(empty message)"
_URL = re.compile(r"https?://[^\s<>\"`]+[^\s<>\"`.,;:!?'\)\]\}*_~|]")
_TARGET = re.compile(r"(?:https?://|mailto:)[^\s<>|]+", re.IGNORECASE)
_STYLES = {Style.BOLD: "bold", Style.ITALIC: "italic", Style.STRIKE: "strike", Style.CODE: "code"}

Json = dict[str, Any]


class Payload(msgspec.Struct, omit_defaults=True):
    """What a part's payload holds; `older` are the blocks for those who do not take a table."""

    blocks: list[Json] = []
    older: list[Json] = []


def render(message: OutboundMessage) -> list[OutboundPart]:
    """The parts of a message: at least one, each within Slack's limits, in order.

    A table is a table, where it and the text before it fit into one message; Slack shows it at that
    one's end. The last part carries the choices as buttons. The plain fallback has link targets
    written out where they fit.
    """
    drawn = list(_drawn(message.text)) or [_Drawn(Rich(_EMPTY))]
    parts = []
    for number, (piece, table) in enumerate(drawn):
        written = [{"type": "rich_text", "elements": list(_elements(piece))}]
        payload = Payload(written)
        if table is not None:
            before = (
                [{"type": "rich_text", "elements": elements}]
                if (elements := list(_elements(table.before)))
                else []
            )
            payload = Payload([*before, table.block], written)
        if number == len(drawn) - 1:
            buttons = list(_buttons(message.choices))
            payload.blocks += buttons
            payload.older += buttons if payload.older else []
        parts.append(
            OutboundPart(
                text=_with_targets(piece),
                payload=msgspec.json.encode(payload),
                key=f"{message.key}.{number}",
            )
        )
    return parts


class _DrawnTable(NamedTuple):
    before: Rich
    block: Json


class _Drawn(NamedTuple):
    """A piece of a message as rich text alone, and as what stands before a table and that one."""

    piece: Rich
    table: _DrawnTable | None = None


def _drawn(text: str) -> Iterator[_Drawn]:
    lines, at = clean(text).split("\n"), 0
    for table in tables("\n".join(lines)):
        whole = _pieces("\n".join(lines[at : table.last]))
        before = _pieces("\n".join(lines[at : table.first]))
        block = table_block(table)
        if block is None or len(whole) != 1 or len(before) > 1:
            continue
        yield _Drawn(whole[0], _DrawnTable((*before, Rich(""))[0], block))
        at = table.last
    yield from map(_Drawn, _pieces("\n".join(lines[at:])))


def _pieces(markdown: str) -> list[Rich]:
    return split(from_markdown(markdown), TEXT_LIMIT, max_spans=SPAN_LIMIT)


def table_block(table: Table) -> Json | None:
    """The table as a block, None if it is beyond Slack's limits for one."""
    if len(table.rows) > TABLE_ROWS or len(table.aligns) > TABLE_COLUMNS:
        return None
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    settings: list[Json] = [
        {"is_wrapped": True} | ({"align": align} if align else {}) for align in table.aligns
    ]
    block = {"type": "table", "column_settings": settings, "rows": rows}
    return block if len(msgspec.json.encode(block)) <= TABLE_BYTES else None


def _cell(rich: Rich) -> Json:
    inline = list(_inline(rich, 0, len(rich.text)))
    if not inline:
        return {"type": "raw_text", "text": " "}
    section = {"type": "rich_text_section", "elements": inline}
    return {"type": "rich_text", "elements": [section]}


def has_table(part: OutboundPart) -> bool:
    """Whether a table is in it, which a workspace may refuse."""
    return bool(part.payload) and bool(_payload(part).older)


def content(part: OutboundPart, *, plain: bool, with_tables: bool = True) -> Json:
    """The parameters that chat.postMessage and chat.update have in common."""
    params: Json = {
        "text": escape(part.text),
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "blocks": [],
    }
    if part.key:
        params["metadata"] = {"event_type": METADATA_TYPE, "event_payload": {"key": part.key}}
    if plain:
        params["mrkdwn"] = False
        params["blocks"] = [
            block for block in _payload(part).blocks if block.get("type") == "actions"
        ]
        if params["blocks"]:
            # With any block at all, the text is for notifications only.
            words = {"type": "text", "text": part.text}
            section = {"type": "rich_text_section", "elements": [words]}
            params["blocks"].insert(0, {"type": "rich_text", "elements": [section]})
    else:
        payload = _payload(part)
        params["blocks"] = payload.blocks if with_tables else payload.older or payload.blocks
    return params


def caption_blocks(part: OutboundPart, caption: str) -> list[Json]:
    """The words beside a file, marked so that the message can be found again."""
    words = {"type": "rich_text_section", "elements": [{"type": "text", "text": caption}]}
    return [{"type": "rich_text", "block_id": mark_of(part), "elements": [words]}]


def mark_of(part: OutboundPart) -> str:
    """A block_id that tells one part from all others; at most 255 characters, as Slack wants."""
    return f"nanobot-{hashlib.sha256(part.key.encode()).hexdigest()[:40]}"


def _payload(part: OutboundPart) -> Payload:
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def _elements(piece: Rich) -> Iterator[Json]:
    """The piece cut into sections, quotes and preformatted blocks."""
    at = 0
    boxes = [span for span in piece.spans if span.style in {Style.PRE, Style.QUOTE}]
    for box in boxes:
        if box.start < at:
            continue  # code within a quote: the quote has it
        yield from _section(piece, at, box.start, "rich_text_section")
        if box.style is Style.PRE:
            text = {"type": "text", "text": piece.text[box.start : box.end]}
            yield {"type": "rich_text_preformatted", "elements": [text]}
        else:
            yield from _section(piece, box.start, box.end, "rich_text_quote")
        at = box.end
    yield from _section(piece, at, len(piece.text), "rich_text_section")


def _section(piece: Rich, start: int, end: int, kind: str) -> Iterator[Json]:
    # The line ends around a box are its own margin.
    while start > 0 and start < end and piece.text[start] == "\n":
        start += 1
    while end < len(piece.text) and end > start and piece.text[end - 1] == "\n":
        end -= 1
    inline = list(_inline(piece, start, end))
    if inline:
        yield {"type": kind, "elements": inline}


def _inline(piece: Rich, start: int, end: int) -> Iterator[Json]:
    spans = [span for span in piece.spans if span.start < end and span.end > start]
    edges = {start, end}
    for span in spans:
        edges |= {max(span.start, start), min(span.end, end)}
    points = sorted(edges)
    runs = []
    over: list[Span] = []
    at = 0
    for first, last in pairwise(points):
        begun = at
        while at < len(spans) and spans[at].start <= first:
            at += 1
        over = [span for span in (*over, *spans[begun:at]) if span.end > first]
        link = next((span for span in over if span.style is Style.LINK), None)
        style = frozenset(_STYLES[span.style] for span in over if span.style in _STYLES)
        if any(span.style is Style.PRE for span in over):
            style = frozenset({"code"})
        runs.append((piece.text[first:last], style, link))
    for (style, link), group in groupby(runs, key=lambda run: (run[1], run[2])):
        text = "".join(run[0] for run in group)
        yield from _run(text, style, link)


def _run(text: str, style: frozenset[str], link: Span | None) -> Iterator[Json]:
    look: Json = {"style": dict.fromkeys(sorted(style), True)} if style else {}
    if link is not None:
        yield from _link(text, link.value, look)
        return
    at = 0
    # Nothing in rich text becomes a link by itself.
    for match in () if "code" in style else _URL.finditer(text):
        if len(match[0]) > URL_LIMIT:
            continue
        if match.start() > at:
            yield {"type": "text", "text": text[at : match.start()]} | look
        yield {"type": "link", "url": match[0]} | look
        at = match.end()
    if at < len(text):
        yield {"type": "text", "text": text[at:]} | look


def _link(text: str, target: str, look: Json) -> Iterator[Json]:
    if _TARGET.fullmatch(target) and len(target) <= URL_LIMIT:
        fields = {} if text == target else {"text": text}
        yield {"type": "link", "url": target} | fields | look
    else:
        yield {"type": "text", "text": text if text == target else f"{text} ({target})"} | look


def _with_targets(piece: Rich) -> str:
    """The text with link targets behind the links, or as it is if that is too long."""
    text = piece.text
    for link in reversed([span for span in piece.spans if span.style is Style.LINK]):
        if link.value != piece.text[link.start : link.end]:
            text = f"{text[: link.end]} ({link.value}){text[link.end :]}"
    return text if len(text) <= PLAIN_LIMIT else piece.text


def _buttons(choices: Sequence[Choice]) -> Iterator[Json]:
    for first in range(0, len(choices), BUTTONS_IN_BLOCK):
        row = choices[first : first + BUTTONS_IN_BLOCK]
        elements = [_button(choice, first + number) for number, choice in enumerate(row)]
        yield {"type": "actions", "elements": elements}


def _button(choice: Choice, number: int) -> Json:
    label = clean(choice.label).replace("\n", " ").strip() or choice.say
    if len(label) > LABEL_LIMIT:
        label = label[: LABEL_LIMIT - 1] + "…"
    text = {"type": "plain_text", "text": label, "emoji": False}
    action = f"{ACTION_PREFIX}{number}"
    return {"type": "button", "action_id": action, "text": text, "value": choice.say}
