"""What Slack accepts and refuses, and the records its double keeps."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.doubles.platform_server import Fault

Params = dict[str, Any]
_JSON_METHODS = ("chat.", "reactions.", "assistant.")
_JSON_PARAMS = {"blocks", "files", "metadata"}
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


def check_message(params: Params, *, tables: bool = True) -> None:
    """The limits of chat.postMessage, raises Refusal; `tables`: whether there are any."""
    text, blocks = params.get("text", ""), params.get("blocks") or []
    if not text and not blocks:
        raise Refusal("no_text")
    if len(text) > 40_000:
        raise Refusal("msg_too_long")
    check_blocks(blocks, tables=tables)
    if sum(block["type"] == "table" for block in blocks) > 1:
        raise Refusal("invalid_attachments")
    metadata = params.get("metadata")
    if metadata is not None and set(metadata) != {"event_type", "event_payload"}:
        raise Refusal("metadata_must_be_sent_from_app")


def check_blocks(blocks: list[Params], *, tables: bool = True) -> None:
    """Block Kit's limits (https://docs.slack.dev/reference/block-kit/blocks); raises Refusal."""
    if len(blocks) > 50:
        raise Refusal("invalid_blocks")
    if len(json.dumps(blocks, ensure_ascii=False)) > 13_200:
        raise Refusal("msg_blocks_too_long")  # observed, not documented
    actions: list[str] = []
    for block in blocks:
        elements = block.get("elements", [])
        if len(block.get("block_id", "")) > 255:
            raise Refusal("invalid_blocks")
        if block["type"] == "rich_text":
            _check_rich_text(elements)
        elif block["type"] == "actions":
            _check_actions(elements)
            actions += [element["action_id"] for element in elements]
        elif block["type"] == "table" and tables:
            _check_table(block)
        else:
            raise Refusal("invalid_blocks")
    if len(set(actions)) != len(actions):
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
    if not sections or length > 3_500:
        raise Refusal("invalid_blocks")


def _check_actions(elements: list[Params]) -> None:
    if not 1 <= len(elements) <= 25:
        raise Refusal("invalid_blocks")
    for element in elements:
        label, value = element["text"]["text"], element["value"]
        if not 1 <= len(label) <= 75 or len(value) > 2000 or len(element["action_id"]) > 255:
            raise Refusal("invalid_blocks")


def shown_text(blocks: list[Params]) -> str:
    """What people see of rich text, without its looks: a line end between sections."""
    lines = []
    for block in blocks:
        if block["type"] == "table":
            lines += [" | ".join(map(_cell_text, row)) for row in block["rows"]]
        if block["type"] == "rich_text":
            for section in block["elements"]:
                pieces = [
                    element.get("text") or element.get("url", "") for element in section["elements"]
                ]
                lines.append("".join(pieces))
    return "\n".join(lines)
