"""What Telegram accepts and refuses, and the records its double keeps."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.doubles.platform_server import Fault

Params = dict[str, Any]
_JSON_PARAMS = {"allowed_updates", "entities", "link_preview_options", "reply_markup"}
_JSON_PARAMS |= {
    "reply_parameters",
    "commands",
    "reaction",
    "media",
    "rich_message",
    "ephemeral_message_parameters",
}
_TEXT_LIMIT = 4096
_MENTION = re.compile(r"(?<!\w)@\w+")
_ENTITY_LIMIT = 100


class Refusal(Exception):
    """The API says no: an HTTP status and what goes into the body."""

    def __init__(self, status: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters


@dataclass
class Call:
    """One call of the bot: what came in and which status went out (0: the socket was cut)."""

    method: str
    params: Params
    status: int | None = None
    description: str = ""


@dataclass(frozen=True)
class Upload:
    """A file as a bot sent it, and the kind of message it was sent as."""

    kind: str
    name: str
    mime: str
    content: bytes


@dataclass
class Message:
    """One message in a chat, as people see it now; `history` holds the texts before edits."""

    chat: int
    message_id: int
    text: str
    from_bot: bool
    params: Params = field(default_factory=dict)
    history: list[str] = field(default_factory=list)
    file: Upload | None = None

    @property
    def entities(self) -> list[dict[str, Any]]:
        """Entities that took effect (observed: the server ignores those after the 100th)."""
        entities: list[dict[str, Any]] = self.params.get("entities") or []
        return entities[:_ENTITY_LIMIT]


@dataclass(kw_only=True)
class TelegramFault(Fault):
    """What goes wrong with calls, of one chat or of all."""

    chat: int | None = None
    description: str = ""
    migrate_to_chat_id: int | None = None

    def refusal(self) -> Refusal:
        extra = {"retry_after": self.retry_after, "migrate_to_chat_id": self.migrate_to_chat_id}
        parameters = {name: value for name, value in extra.items() if value is not None}
        return Refusal(self.status, self.description or f"Fault {self.status}", **parameters)


def user(number: int) -> dict[str, Any]:
    """A person as the API shows them."""
    return {"id": number, "is_bot": False, "first_name": "Person", "last_name": str(number)}


def entities_of(text: str) -> list[dict[str, Any]]:
    """What Telegram's clients mark in a text that somebody types: a command, mentions."""
    entities = []
    if text.startswith("/"):
        entities.append({"type": "bot_command", "offset": 0, "length": len(text.split()[0])})
    for match in _MENTION.finditer(text):
        start = len(text[: match.start()].encode("utf-16-le")) // 2
        entities.append({"type": "mention", "offset": start, "length": len(match.group())})
    return entities


async def read_params(request: web.Request) -> Params:
    """The parameters, however they were sent: query, JSON, form or multipart."""
    params: Params = dict(request.query)
    if request.content_type == "application/json":
        params |= await request.json()
    else:
        params |= dict(await request.post())
    for name in _JSON_PARAMS & params.keys():
        if isinstance(params[name], str):
            params[name] = json.loads(params[name])
    return params


def check_text(params: Params) -> None:
    """What sendMessage and editMessageText demand of a text and its entities."""
    text = params.get("text") or ""
    units = len(text.encode("utf-16-le")) // 2
    if not text.strip():
        raise Refusal(400, "Bad Request: message text is empty")
    if units > _TEXT_LIMIT:
        raise Refusal(400, "Bad Request: message is too long")
    if params.get("parse_mode"):
        raise Refusal(400, "Bad Request: unsupported parse_mode")
    for entity in params.get("entities") or []:
        start, length = entity["offset"], entity["length"]
        if start < 0 or length <= 0 or start + length > units:
            raise Refusal(400, "Bad Request: can't parse entities: entity is out of the text")
        for edge in (start, start + length):
            if _inside_pair(text, edge):
                raise Refusal(400, "Bad Request: entity begins in a middle of a UTF-16 symbol")


def _inside_pair(text: str, unit: int) -> bool:
    pair = text.encode("utf-16-le")[2 * unit - 2 : 2 * unit + 2] if unit else b""
    if len(pair) < 4:
        return False
    return pair[1] & 0xFC == 0xD8 and pair[3] & 0xFC == 0xDC
