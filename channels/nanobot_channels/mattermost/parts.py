"""Outbound messages as posts: the Markdown unchanged, with buttons below the last one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import msgspec

from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.json_api import Json
from nanobot_channels.common.pieces import pieces
from nanobot_channels.common.text import clean, clipped, one_line
from nanobot_channels.mattermost.events import Button

LIMIT = 16_383
"""Characters of a post."""
MARK = "nanobot_part"
"""The property of a post that identifies a part."""
_PIECE = 16_000
_LABEL = 100
_EMPTY = "(empty message)"
_EVERYBODY = re.compile(r"@(?=(?:channel|all|here)\b)", re.IGNORECASE)


class Payload(msgspec.Struct, omit_defaults=True):
    """The payload of a part: pairs of a button's text and its label."""

    choices: list[tuple[str, str]] = []


def render(message: OutboundMessage, *, buttons: bool) -> list[OutboundPart]:
    """The parts: at least one, each within the limit. Without buttons the choices are
    written out.
    """
    text = visible(message.text)
    choices = [(choice.say, one_line(choice.label) or choice.say) for choice in message.choices]
    if choices and not buttons:
        text = f"{text}\n\n{_written(message.choices)}".strip()
    texts = list(pieces(text, _PIECE, LIMIT, len)) or [_EMPTY]
    parts = [OutboundPart(text=piece) for piece in texts]
    if choices and buttons:
        payload = msgspec.json.encode(Payload(choices))
        parts[-1] = msgspec.structs.replace(parts[-1], payload=payload)
    return parts


def visible(text: str) -> str:
    """The Markdown to send, in a form that notifies no one."""
    return _EVERYBODY.sub("@\u200b", clean(text)).strip()


def _written(choices: Sequence[Choice]) -> str:
    return "\n".join(
        f"- {one_line(choice.label) or choice.say}: `{choice.say}`" for choice in choices
    )


def mark_of(part: OutboundPart) -> str:
    """Identifies a part."""
    return hashlib.sha256(part.key.encode()).hexdigest()[:26]


def properties(part: OutboundPart, address: Address, how: tuple[str, str, bool]) -> Json:
    """The properties of its post. `how`: where presses are sent, the token that authenticates our
    buttons, and whether the channel is a direct one.
    """
    url, token, direct = how
    payload = msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()
    actions: list[Json] = []
    for number, (say, label) in enumerate(payload.choices if url else []):
        button = Button(say, address.chat_id, address.thread_id or "", direct).signed(token)
        context = msgspec.to_builtins(button)
        integration = {"url": f"{url}/press", "context": context}
        name = clipped(label, _LABEL)
        action = {"id": f"choice{number}", "type": "button", "name": name}
        actions.append(action | {"integration": integration})
    mark = {MARK: mark_of(part)} if part.key else {}
    return mark | {"attachments": [{"actions": actions}] if actions else []}


def plain(text: str) -> str:
    """The text with its marks escaped, so that they appear as characters."""
    return re.sub(r"([\\`*_~#>|\[\]<:!-])", r"\\\1", visible(text))
