"""Outbound messages as Slack's blocks: the Markdown unchanged, buttons below it.

If a workspace does not accept Markdown (an emulator, an older server), plain text is sent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from nanobot.messages import Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.markdown import from_markdown
from nanobot_channels.common.pieces import pieces
from nanobot_channels.common.text import clean, clipped, with_targets
from nanobot_channels.slack.text import escape

MARKDOWN_LIMIT = 12_000
"""Characters of all markdown blocks of one message."""
BLOCKS_LIMIT = 12_600
"""Characters of the Markdown as JSON: blocks of more than some 13,200 are refused (bolt-js issue
2509, not documented)."""
NOTICE_LIMIT = 800
"""Characters of the text for notifications: chat.update accepts 4,000 escaped ones."""
BUTTONS_IN_BLOCK = 25
"""Elements of an actions block."""
LABEL_LIMIT = 75
"""Characters on a button."""
METADATA_TYPE = "nanobot_part"
OLDEST = 2
ACTION_PREFIX = "nanobot."
_EMPTY = "(empty message)"
_MENTION = re.compile(r"<(?=[@!#])")

Json = dict[str, Any]


class Payload(msgspec.Struct, omit_defaults=True):
    """The payload of a part: Markdown without mentions, and the blocks below it."""

    markdown: str = ""
    blocks: list[Json] = []


def render(message: OutboundMessage, *, feedback: bool = False) -> list[OutboundPart]:
    """The parts of a message: at least one, each within Slack's limits, in order.

    The last part carries the choices as buttons and, if `feedback` is wanted, two thumbs for a
    verdict on a run's answer. The plain text has link targets written out.
    """
    below = list(_buttons(message.choices))
    if feedback and message.run_id:
        below.append(_thumbs(message.run_id))
    texts = markdown_pieces(message.text) or [_EMPTY]
    parts = []
    env: Json = {}
    for number, piece in enumerate(texts):
        last = number == len(texts) - 1
        payload = Payload(piece, below if last else [])
        text = with_targets(from_markdown(piece, env), BLOCKS_LIMIT) or piece
        key = f"{message.key}.{number}"
        parts.append(OutboundPart(text=text, payload=msgspec.json.encode(payload), key=key))
    return parts


def visible(text: str) -> str:
    """The Markdown to send, without mentions."""
    return _MENTION.sub("&lt;", clean(text)).strip()


def markdown_pieces(text: str) -> list[str]:
    """The Markdown in pieces that each fit into a message, with code fenced again in each."""
    return list(pieces(visible(text), MARKDOWN_LIMIT, BLOCKS_LIMIT, _size))


def _size(piece: str) -> int:
    return len(msgspec.json.encode(piece).decode())


def contents(part: OutboundPart) -> Iterator[tuple[int, Json]]:
    """The common parameters of chat.postMessage and chat.update, in every form, each with its
    grade: 0 has buttons for a verdict, 1 is Markdown, `OLDEST` plain text.
    """
    payload = payload_of(part)
    params = _params(part, clipped(part.text, NOTICE_LIMIT))
    if not payload.markdown:  # a part that an earlier version stored, or a text from the host
        if payload.blocks:
            yield 1, params | {"blocks": payload.blocks}
        yield OLDEST, _params(part, part.text) | {"blocks": []}
        return
    markdown = {"type": "markdown", "text": payload.markdown}
    actions = [block for block in payload.blocks if block.get("type") == "actions"]
    if actions != payload.blocks:
        yield 0, params | {"blocks": [markdown, *payload.blocks]}
    yield 1, params | {"blocks": [markdown, *actions]}
    yield OLDEST, params | {"blocks": [_words(part.text), *actions]}


def plain_content(part: OutboundPart) -> Json:
    """The parameters of the part as plain text, with its buttons."""
    actions = [block for block in payload_of(part).blocks if block.get("type") == "actions"]
    params = _params(part, part.text) | {"mrkdwn": False, "blocks": actions}
    if actions:  # with any block at all, the text is for notifications only
        params["blocks"] = [_words(part.text), *actions]
    return params


def _params(part: OutboundPart, text: str) -> Json:
    params: Json = {"text": escape(text), "parse": "none", "link_names": False}
    return params | ({"metadata": metadata_of(part)} if part.key else {})


def metadata_of(part: OutboundPart) -> Json:
    """The key that identifies a message."""
    return {"event_type": METADATA_TYPE, "event_payload": {"key": part.key}}


def _words(text: str) -> Json:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def caption_blocks(part: OutboundPart, caption: str) -> list[Json]:
    """The caption of a file, with a mark that identifies the message."""
    return [_words(caption) | {"block_id": mark_of(part)}]


def mark_of(part: OutboundPart) -> str:
    """A block_id that identifies a part; at most 255 characters, as Slack requires."""
    return f"nanobot-{hashlib.sha256(part.key.encode()).hexdigest()[:40]}"


def payload_of(part: OutboundPart) -> Payload:
    """The payload of a stored part."""
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def _buttons(choices: Sequence[Choice]) -> Iterator[Json]:
    for first in range(0, len(choices), BUTTONS_IN_BLOCK):
        row = choices[first : first + BUTTONS_IN_BLOCK]
        elements = [_button(choice, first + number) for number, choice in enumerate(row)]
        yield {"type": "actions", "elements": elements}


def _thumbs(run_id: str) -> Json:
    """https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element"""
    element: Json = {"type": "feedback_buttons", "action_id": f"{ACTION_PREFIX}feedback"}
    for key, verdict, words in (
        ("positive", "up", "Good answer"),
        ("negative", "down", "Bad answer"),
    ):
        label = {"type": "plain_text", "text": words}
        value = f"/runs feedback {verdict} run={run_id}"
        element[f"{key}_button"] = {"text": label, "accessibility_label": words, "value": value}
    return {"type": "context_actions", "elements": [element]}


def _button(choice: Choice, number: int) -> Json:
    label = clean(choice.label).replace("\n", " ").strip() or choice.say
    text = {"type": "plain_text", "text": clipped(label, LABEL_LIMIT), "emoji": False}
    action = f"{ACTION_PREFIX}{number}"
    return {"type": "button", "action_id": action, "text": text, "value": choice.say}
