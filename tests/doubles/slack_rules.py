"""What Slack accepts and refuses, and the records its double keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.doubles.platform_server import Fault

Params = dict[str, Any]
_JSON_METHODS = ("chat.", "reactions.", "assistant.")
_JSON_PARAMS = {"blocks", "files", "metadata", "chunks"}
_TASK_STATES = {"pending", "in_progress", "complete", "error"}
_SECTIONS = {"rich_text_section", "rich_text_quote", "rich_text_preformatted"}


class Refusal(Exception):
    """The API says no: its error and what else goes into the body."""

    def __init__(self, error: str, **more: Any) -> None:
        super().__init__(error)
        self.error = error
        self.more = more


@dataclass
class Call:
    """One call of the bot."""

    method: str
    params: Params
    status: int = 0


@dataclass(kw_only=True)
class SlackFault(Fault):
    """What goes wrong with the calls of a method. `error`: Slack's word for it, with which it
    refuses also where the status is 200."""

    error: str = ""
    needed: str = ""
    content_type: str = "application/json"

    @property
    def refuses(self) -> bool:
        return bool(self.error or self.status)


@dataclass
class Envelope:
    """One envelope: how often it was delivered, and whether it was acknowledged."""

    id: str
    type: str
    payload: Any
    deliveries: int = 0
    acknowledged: bool = False
    without_payload: bool = False

    def frame(self) -> str:
        """The JSON that goes over the websocket."""
        fields: Params = {"envelope_id": self.id, "type": self.type, "payload": self.payload}
        if self.without_payload:
            del fields["payload"]
        if self.type == "events_api" and self.deliveries > 1:
            fields |= {"retry_attempt": self.deliveries - 1, "retry_reason": "timeout"}
        return json.dumps(fields | {"accepts_response_payload": self.type != "events_api"})


@dataclass
class Stored:
    """A file."""

    id: str
    name: str
    content: bytes = b""
    complete: bool = False
    mime: str = "application/octet-stream"


@dataclass
class Room:
    """A conversation; `messages` in the order of time, threads among them."""

    messages: list[Params] = field(default_factory=list)
    member: bool = True
    archived: bool = False


async def read_params(request: web.Request, method: str) -> Params:
    """Query, form, and JSON; the last only where Slack reads it."""
    params: Params = dict(request.query)
    if request.content_type == "application/json":
        if method.startswith(_JSON_METHODS):
            params |= json.loads(await request.text() or "{}")
    else:
        params |= {key: str(value) for key, value in (await request.post()).items()}
    for key in _JSON_PARAMS & params.keys():
        if isinstance(params[key], str):
            params[key] = json.loads(params[key])
    return params


KNOWN_BLOCKS = frozenset(
    {"rich_text", "actions", "table", "markdown", "section", "context_actions"}
)
OLD_BLOCKS = KNOWN_BLOCKS - {"table", "markdown", "context_actions"}
"""What a workspace of some years ago took."""


def check_message(
    params: Params, *, known: frozenset[str] = KNOWN_BLOCKS, most: int = 40_000
) -> None:
    """The limits of chat.postMessage, raises Refusal; `known`: the blocks that are taken; `most`:
    characters of its text."""
    text, blocks = params.get("text", ""), params.get("blocks") or []
    if not text and not blocks:
        raise Refusal("no_text")
    if len(text) > most:
        raise Refusal("msg_too_long")
    check_blocks(blocks, known=known)
    if sum(block["type"] == "table" for block in blocks) > 1:
        raise Refusal("invalid_attachments")
    metadata = params.get("metadata")
    if metadata is not None and set(metadata) != {"event_type", "event_payload"}:
        raise Refusal("metadata_must_be_sent_from_app")


def check_blocks(blocks: list[Params], *, known: frozenset[str] = KNOWN_BLOCKS) -> None:
    """Block Kit's limits (https://docs.slack.dev/reference/block-kit/blocks); raises Refusal."""
    if len(blocks) > 50 or any(block["type"] not in known for block in blocks):
        raise Refusal("invalid_blocks")
    if len(json.dumps(blocks, ensure_ascii=False)) > 13_200:
        raise Refusal("msg_blocks_too_long")  # observed, not documented
    markdown = [block["text"] for block in blocks if block["type"] == "markdown"]
    if not all(markdown) or sum(map(len, markdown)) > 12_000:
        raise Refusal("invalid_blocks")
    actions: list[str] = []
    for block in blocks:
        if len(block.get("block_id", "")) > 255:
            raise Refusal("invalid_blocks")
        if block["type"] in _CHECKS:
            _CHECKS[block["type"]](block)
        if block["type"] == "actions":
            actions += [element["action_id"] for element in block["elements"]]
    if len(set(actions)) != len(actions):
        raise Refusal("invalid_blocks")


def check_chunks(chunks: list[Params]) -> None:
    """What may be appended to a stream; raises Refusal."""
    for chunk in chunks:
        if chunk["type"] == "markdown_text" and 1 <= len(chunk["text"]) <= 12_000:
            continue
        if chunk["type"] != "task_update" or not 1 <= len(chunk["title"]) <= 256:
            raise Refusal("invalid_chunks")
        if not chunk["id"] or chunk["status"] not in _TASK_STATES:
            raise Refusal("invalid_chunks")


def _check_section(block: Params) -> None:
    if block["text"]["type"] != "mrkdwn" or not 1 <= len(block["text"]["text"]) <= 3_000:
        raise Refusal("invalid_blocks")


def _check_feedback(block: Params) -> None:
    """https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element"""
    if not 1 <= len(block["elements"]) <= 5:
        raise Refusal("invalid_blocks")
    for element in block["elements"]:
        for button in (element["positive_button"], element["negative_button"]):
            if not 1 <= len(button["text"]["text"]) <= 75 or len(button["value"]) > 2000:
                raise Refusal("invalid_blocks")


def _check_table(block: Params) -> None:
    """https://docs.slack.dev/reference/block-kit/blocks/table-block"""
    rows, settings = block["rows"], block.get("column_settings", [])
    widths = {len(row) for row in rows}
    if not 1 <= len(rows) <= 100 or len(widths) != 1 or not 1 <= max(widths) <= 20:
        raise Refusal("invalid_blocks")
    if len(settings) > max(widths) or any(
        setting.get("align", "left") not in {"left", "center", "right"} for setting in settings
    ):
        raise Refusal("invalid_blocks")
    for cell in (cell for row in rows for cell in row):
        if cell["type"] == "rich_text":
            _check_rich_text(cell["elements"])
        elif cell["type"] != "raw_text" or not cell["text"]:
            raise Refusal("invalid_blocks")
    if sum(len(_cell_text(cell)) for row in rows for cell in row) > 10_000:
        raise Refusal("invalid_blocks")


def _cell_text(cell: Params) -> str:
    return str(cell["text"]) if cell["type"] == "raw_text" else shown_text([cell])


def _check_rich_text(sections: list[Params]) -> None:
    length = 0
    for section in sections:
        if section["type"] not in _SECTIONS or not section["elements"]:
            raise Refusal("invalid_blocks")
        for element in section["elements"]:
            if element["type"] == "text" and not element["text"]:
                raise Refusal("invalid_blocks")
            if element["type"] == "link" and not element["url"].startswith(("http", "mailto:")):
                raise Refusal("invalid_blocks")
            if element["type"] not in {"text", "link"}:
                raise Refusal("invalid_blocks")
            if section["type"] == "rich_text_preformatted" and "style" in element:
                raise Refusal("invalid_blocks")
            length += len(element.get("text", ""))
    if not sections or length > 13_000:
        raise Refusal("invalid_blocks")


def _check_actions(elements: list[Params]) -> None:
    if not 1 <= len(elements) <= 25:
        raise Refusal("invalid_blocks")
    for element in elements:
        label, value = element["text"]["text"], element["value"]
        if not 1 <= len(label) <= 75 or len(value) > 2000 or len(element["action_id"]) > 255:
            raise Refusal("invalid_blocks")


_CHECKS: dict[str, Callable[[Params], None]] = {
    "rich_text": lambda block: _check_rich_text(block["elements"]),
    "actions": lambda block: _check_actions(block["elements"]),
    "table": _check_table,
    "section": _check_section,
    "context_actions": _check_feedback,
}


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def shown_text(blocks: list[Params]) -> str:
    """What people see of blocks, without its looks: a line end between sections. Markdown stays as
    it was written."""
    lines = []
    for block in blocks:
        if block["type"] == "markdown":
            lines.append(_unescaped(block["text"]))
        if block["type"] == "section":
            lines.append(_unescaped(block["text"]["text"]))
        if block["type"] == "table":
            lines += [" | ".join(map(_cell_text, row)) for row in block["rows"]]
        if block["type"] == "rich_text":
            for section in block["elements"]:
                pieces = [
                    element.get("text") or element.get("url", "") for element in section["elements"]
                ]
                lines.append("".join(pieces))
    return "\n".join(lines)
