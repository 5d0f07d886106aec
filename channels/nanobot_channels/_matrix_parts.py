"""Outbound messages as events: the Markdown as it is, and in the HTML that Matrix allows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels._text import Rich, clean, split

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LIMIT = 30_000
"""Bytes of body and formatted_body in JSON; a whole event has at most 65,536 (client-server API,
size limits), and its servers add to it."""
MARK = "org.nanobot.part"
"""The field of an event's content by which a part is found again."""
_PIECE = 8_000  # bytes of a block's source that is too long for one event
_BLURB = 1_000  # characters of an edit for clients that know none
_EMPTY = "(empty message)"
_PLAIN = {"paragraph_open", "paragraph_close", "inline"}

Json = dict[str, Any]


class Payload(msgspec.Struct, omit_defaults=True):
    """What a part's payload holds. `html` is empty where it says no more than the text."""

    html: str = ""
    notice: bool = False
    reply_to: str = ""


class Block(msgspec.Struct, frozen=True):
    """A Markdown block, its HTML, and whether the HTML adds anything to the text."""

    source: str
    html: str
    plain: bool

    @property
    def size(self) -> int:
        """Its size in bytes as an event's whole content."""
        return self.words + (0 if self.plain else self.looks)

    @property
    def words(self) -> int:
        """Bytes of its source in an event, with the line ends between blocks."""
        return len(msgspec.json.encode(self.source)) + len(r"\n\n")

    @property
    def looks(self) -> int:
        """Bytes of its HTML in an event."""
        return len(msgspec.json.encode(self.html))


def render(message: OutboundMessage) -> list[OutboundPart]:
    """The parts of a message: at least one, each within the limit, in order.

    Choices are written out, since Matrix has no buttons. The first part answers `reply_to`.
    """
    text = clean(message.text).strip("\n")
    if not split(Rich(text), max(len(text), 1)):
        text = _EMPTY
    if message.choices:
        text += "\n\n" + "\n".join(
            f"- {_label(choice.label)}: `{choice.say}`" for choice in message.choices
        )
    parts = []
    for number, blocks in enumerate(_packed(_blocks(text))):
        html = (
            "" if all(block.plain for block in blocks) else "".join(block.html for block in blocks)
        )
        payload = Payload(
            html=html.strip("\n"),
            notice=message.kind is OutboundKind.NOTICE,
            reply_to=(message.reply_to or "") if number == 0 else "",
        )
        parts.append(
            OutboundPart(
                text="\n\n".join(block.source for block in blocks),
                payload=msgspec.json.encode(payload),
                key=f"{message.key}.{number}",
            )
        )
    return parts


def content(address: Address, part: OutboundPart, *, plain: bool, direct: bool = False) -> Json:
    """A part as the content of m.room.message. In a `direct` chat it is no reply."""
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
        "m.new_content": words,
        "m.relates_to": {"rel_type": "m.replace", "event_id": message_id},
    }


def relation(address: Address, reply_to: str = "") -> Json:
    """A message's m.relates_to: its thread and what it replies to."""
    reply = {"m.in_reply_to": {"event_id": reply_to or address.thread_id}}
    if address.thread_id:
        thread = {"rel_type": "m.thread", "event_id": address.thread_id}
        return thread | {"is_falling_back": not reply_to} | reply
    return reply if reply_to else {}


def mark_of(part: OutboundPart) -> str:
    """Tells one part from all others: as a transaction id it makes a repeated request harmless."""
    return f"nanobot-{hashlib.sha256(part.key.encode()).hexdigest()[:40]}"


def _payload(part: OutboundPart) -> Payload:
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def _words(part: OutboundPart, payload: Payload, *, plain: bool) -> Json:
    fields: Json = {
        "msgtype": "m.notice" if payload.notice else "m.text",
        "body": part.text,
        # Without it a name, or @room, in a model's words would ring.
        "m.mentions": {},
    }
    if payload.html and not plain:
        fields |= {"format": "org.matrix.custom.html", "formatted_body": payload.html}
    return fields


def _label(text: str) -> str:
    return " ".join(clean(text).split())


def _packed(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """The blocks, joined as long as they fit into one event."""
    pending: list[Block] = []
    words = looks = 0
    plain = True
    for block in blocks:
        # One block that is not plain, and the HTML of all the others goes along.
        more = block.words + (0 if plain and block.plain else looks + block.looks)
        if pending and words + more > LIMIT:
            yield pending
            pending, words, looks, plain = [], 0, 0, True
        pending.append(block)
        words += block.words
        looks += block.looks
        plain = plain and block.plain
    yield pending


def _blocks(text: str) -> list[Block]:
    """The Markdown's blocks, those too long for an event in pieces."""
    lines = text.split("\n")
    tokens = _parser().parse(text)
    blocks: list[Block] = []
    env: Json = {}
    at = 0
    while at < len(tokens):
        end = _closing(tokens, at)
        first, last = tokens[at].map or (0, 0)
        block = _block("\n".join(lines[first:last]).strip("\n"), tokens[at:end])
        blocks += [block] if block.size <= LIMIT else _pieces(block, tokens[at], env)
        at = end
    # Nothing but what the parser takes for nothing, such as a lone backslash, is still text.
    return blocks or [Block(text, f"<p>{escape(text)}</p>\n", plain=True)]


def _closing(tokens: Sequence[Token], at: int) -> int:
    """The index after the block that begins at this token."""
    if tokens[at].nesting == 0:
        return at + 1
    return next(i for i in range(at + 1, len(tokens)) if tokens[i].level == tokens[at].level) + 1


def _block(source: str, tokens: Sequence[Token]) -> Block:
    children = [child.type for token in tokens for child in token.children or ()]
    plain = all(token.type in _PLAIN for token in tokens) and set(children) <= {"text", "softbreak"}
    html = _parser().renderer.render(tokens, _parser().options, {})
    return Block(source, html, plain and "\\" not in source and "&" not in source)


def _pieces(block: Block, token: Token, env: Json) -> list[Block]:
    """A block in pieces that fit into an event; code is fenced in each of them. All pieces of a
    message are parsed in the same environment, so that its bounds are those of a text."""
    before = after = ""
    source = block.source
    if token.meta:
        # The rest of a text that is too long: nothing in it is Markdown.
        return list(_literal_pieces(source, _PIECE))
    if token.type == "fence":
        before, after = f"{token.markup}{token.info.strip()}\n", f"\n{token.markup}"
        source = token.content.rstrip("\n")
    return list(_shorter(source, (before, after), _PIECE, env))


def _literal_pieces(source: str, limit: int) -> Iterator[Block]:
    for rich in split(Rich(source), limit, measure=_bytes):
        lines = escape(rich.text).replace("\n", "<br />\n")
        block = Block(rich.text, f"<p>{lines}</p>\n", plain=False)
        if block.size <= LIMIT:
            yield block
        else:
            yield from _literal_pieces(rich.text, limit // 2)


def _shorter(source: str, fence: tuple[str, str], limit: int, env: Json) -> Iterator[Block]:
    for rich in split(Rich(source), limit, measure=_bytes):
        text = rich.text.join(fence)
        block = _block(text, _parser().parse(text, env))
        if block.size <= LIMIT:
            yield block
        else:
            # Escaped it is longer: a quotation mark takes eight bytes in all.
            yield from _shorter(rich.text, fence, limit // 2, env)


def _bytes(text: str) -> int:
    return len(text.encode())


@cache
def _parser() -> MarkdownIt:
    from nanobot_channels._html import html_parser  # noqa: PLC0415 - its 30 ms can wait

    return html_parser()
