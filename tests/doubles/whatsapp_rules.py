"""What WhatsApp accepts and refuses."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

Json = dict[str, Any]

MIMES = {
    **dict.fromkeys(("image/jpeg", "image/png"), "image"),
    **dict.fromkeys(("video/mp4", "video/3gpp"), "video"),
    **dict.fromkeys(("audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"), "audio"),
    **dict.fromkeys(("text/plain", "application/pdf", "application/msword"), "document"),
}
_KEYS = {"messaging_product", "recipient_type", "to", "recipient", "type"}
_KEYS |= {"biz_opaque_callback_data", "context"}


class Refusal(Exception):
    """The API says no."""

    def __init__(self, code: int, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


def check_message(body: Json, media: Collection[str], templates: Collection[str]) -> None:
    """Raises Refusal for what Meta documents as an error."""
    kind = body.get("type")
    _need(body.get("messaging_product") == "whatsapp", "messaging_product must be whatsapp")
    _need(("to" in body) != ("recipient" in body), "one of to and recipient is required")
    _need(str(body.get("to", "1")).isdigit(), "to must be a phone number")
    _need(len(str(body.get("biz_opaque_callback_data", ""))) <= 512, "callback data is too long")
    _need(isinstance(kind, str) and set(body) <= _KEYS | {kind}, "an unknown field")
    content = body.get(kind or "", {})
    if kind == "text":
        _text(content.get("body"), 4096, "text.body")
    elif kind == "interactive":
        _interactive(content)
    elif kind == "reaction":
        _need(str(content.get("message_id")).startswith("wamid."), "reaction.message_id")
    elif kind == "template":
        if content.get("name") not in templates:
            raise Refusal(132001, "Template name does not exist in the translation", 404)
    elif kind in {"image", "video", "audio", "document"}:
        if content.get("id") not in media:
            raise Refusal(131053, "Media upload error")
        _need(kind != "audio" or "caption" not in content, "audio takes no caption")
        _need(len(content.get("caption", "")) <= 1024, "caption is too long")
    else:
        raise Refusal(131051, "Unsupported message type")


def _interactive(content: Json) -> None:
    _text(content["body"]["text"], 1024, "interactive.body")
    action = content["action"]
    if content["type"] == "button":
        replies = [button["reply"] for button in action["buttons"]]
        _need(1 <= len(replies) <= 3, "1 to 3 buttons")
        _need(len({reply["title"] for reply in replies}) == len(replies), "titles must be unique")
        for reply in replies:
            _text(reply["title"], 20, "button title")
            _text(reply["id"], 256, "button id")
        return
    _need(content["type"] == "list", "interactive.type")
    _text(action["button"], 20, "list button")
    rows = [row for section in action["sections"] for row in section["rows"]]
    _need(1 <= len(rows) <= 10, "1 to 10 rows")
    _need(len({row["id"] for row in rows}) == len(rows), "row ids must be unique")
    for row in rows:
        _text(row["title"], 24, "row title")
        _text(row["id"], 200, "row id")
        _need(len(row.get("description", "")) <= 72, "row description is too long")


def _text(value: object, most: int, what: str) -> None:
    whole = isinstance(value, str) and value.strip() and len(value) <= most
    _need(whole, f"{what} must have 1 to {most} characters")


def _need(holds: object, message: str) -> None:
    if not holds:
        raise Refusal(100, f"Invalid parameter: {message}")


def shown_text(message: Json) -> str:
    """What a person reads."""
    if message["type"] == "interactive":
        return str(message["interactive"]["body"]["text"])
    content = message.get(message["type"], {})
    return str(content.get("body") or content.get("caption") or content.get("name") or "")
