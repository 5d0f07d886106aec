"""What Discord takes and what it refuses, as documented for Create Message."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

EPOCH = 1_420_070_400
CONTENT_LIMIT = 2000
NONCE_LIMIT = 25
MOST_FILES = 10
SUPPRESS_EMBEDS = 1 << 2
IS_VOICE_MESSAGE = 1 << 13
IS_COMPONENTS_V2 = 1 << 15
KNOWN_FLAGS = SUPPRESS_EMBEDS | 1 << 12 | IS_COMPONENTS_V2
COMPONENTS_LIMIT = 40
TEXT_LIMIT = 4000
ROW, BUTTON, TEXT, FILE, SEPARATOR, CONTAINER = 1, 2, 10, 13, 14, 17
_AT_TOP = {ROW, TEXT, FILE, SEPARATOR, CONTAINER}
_WITHIN = {ROW: {BUTTON}, CONTAINER: {ROW, TEXT, FILE, SEPARATOR}}


class Refusal(Exception):
    """An error status with its JSON error code."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def snowflake(now: float, number: int) -> str:
    """An id made at that moment; a higher number is a later one."""
    return str((int((now - EPOCH) * 1000) << 22) + number)


def check_message(body: Any, files: int, *, native: bool = True, before: int = 0) -> None:
    """Raises Refusal for a message that Discord would not take. `before`: the flags that the
    message has already. Without `native` it knows no components but rows of buttons."""
    flags = body.get("flags", 0)
    if files > MOST_FILES:
        raise _invalid("attachments: Must be 10 or fewer in length.")
    if flags & IS_VOICE_MESSAGE:
        _check_voice(body, files)
        return
    if flags & ~(KNOWN_FLAGS if native else SUPPRESS_EMBEDS):
        raise _invalid("flags: Not a valid flag.")
    if len(str(body.get("nonce", ""))) > NONCE_LIMIT:
        raise _invalid("nonce: Must be 25 or fewer in length.")
    if (flags | before) & IS_COMPONENTS_V2:
        _check_components(body)
        return
    content = body.get("content") or ""
    if not content.strip() and not files:
        raise Refusal(400, 50006, "Cannot send an empty message")
    if len(content) > CONTENT_LIMIT:
        raise _invalid("content: Must be 2000 or fewer in length.")
    rows = body.get("components", [])
    if len(rows) > 5 or any(row["type"] != 1 for row in rows):
        raise _invalid("components: at most 5 rows of at most 5 buttons")
    _check_buttons(rows)


def _check_components(body: Any) -> None:
    """At most 40, with 4000 characters in all, and nothing beside them."""
    if body.get("content") or body.get("embeds"):
        raise _invalid(
            "content: The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2"
        )
    whole = list(nested(body.get("components", [])))
    if not 1 <= len(whole) <= COMPONENTS_LIMIT:
        raise _invalid("components: Must be between 1 and 40 in length.")
    for component in whole:
        inside = component.get("components", [])
        kinds = {child["type"] for child in inside}
        if not kinds <= _WITHIN.get(component["type"], set()):
            raise _invalid('components: Value of field "type" must be another.')
        if component["type"] == TEXT and not component["content"].strip():
            raise _invalid("content: Must be between 1 and 4000 in length.")
    if any(component["type"] not in _AT_TOP for component in body["components"]):
        raise _invalid('components: Value of field "type" must be another.')
    if sum(len(part.get("content", "")) for part in whole) > TEXT_LIMIT:
        raise _invalid("components: The total text must be 4000 or fewer in length.")
    _check_buttons([component for component in whole if component["type"] == 1])


def _check_buttons(rows: list[Any]) -> None:
    buttons = [button for row in rows for button in row["components"]]
    ids = [button["custom_id"] for button in buttons]
    if any(not 1 <= len(row["components"]) <= 5 for row in rows):
        raise _invalid("components: at most 5 rows of at most 5 buttons")
    if len(set(ids)) != len(ids) or any(not 1 <= len(custom_id) <= 100 for custom_id in ids):
        raise _invalid("custom_id: from 1 to 100 characters, each once")
    if any(not 1 <= len(button["label"]) <= 80 for button in buttons):
        raise _invalid("label: Must be 80 or fewer in length.")


def nested(components: list[Any]) -> Iterator[Any]:
    """All components, those within others too."""
    for component in components:
        yield component
        yield from nested(component.get("components", []))


def text_of(components: list[Any]) -> str:
    """What a message's components say."""
    texts = (component["content"] for component in nested(components) if component["type"] == TEXT)
    return "\n".join(texts)


def shown_text(message: Any) -> str:
    """What a message says, whatever it is made of."""
    return str(message["content"] or text_of(message.get("components", [])))


def _check_voice(body: Any, files: int) -> None:
    """Exactly one file that says how long it is and how it looks, and nothing besides."""
    about = body.get("attachments", [])
    if files != 1 or len(about) != 1:
        raise Refusal(400, 50161, "Voice messages must have a single audio attachment")
    if not ({"duration_secs", "waveform"} <= about[0].keys() and about[0]["duration_secs"] > 0):
        raise Refusal(400, 50162, "Voice messages must have supporting metadata")
    if body.get("content") or body.get("components"):
        raise Refusal(400, 50159, "Voice messages do not support additional content")
    if not 1 <= len(base64.b64decode(about[0]["waveform"])) <= 256:
        raise _invalid("waveform: Must be 256 or fewer in length.")


def _invalid(message: str) -> Refusal:
    return Refusal(400, 50035, f"Invalid Form Body: {message}")
