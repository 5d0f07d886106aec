"""What Discord takes and what it refuses, as documented for Create Message."""

from __future__ import annotations

import base64
from typing import Any

EPOCH = 1_420_070_400
CONTENT_LIMIT = 2000
NONCE_LIMIT = 25
IS_VOICE_MESSAGE = 1 << 13


class Refusal(Exception):
    """An error status with its JSON error code."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def snowflake(now: float, number: int) -> str:
    """An id made at that moment; a higher number is a later one."""
    return str((int((now - EPOCH) * 1000) << 22) + number)


def check_message(body: Any, files: int) -> None:
    """Raises Refusal for a message that Discord would not take."""
    if body.get("flags", 0) & IS_VOICE_MESSAGE:
        _check_voice(body, files)
        return
    content = body.get("content") or ""
    if not content.strip() and not files:
        raise Refusal(400, 50006, "Cannot send an empty message")
    if len(content) > CONTENT_LIMIT:
        raise _invalid("content: Must be 2000 or fewer in length.")
    if len(str(body.get("nonce", ""))) > NONCE_LIMIT:
        raise _invalid("nonce: Must be 25 or fewer in length.")
    rows = body.get("components", [])
    buttons = [button for row in rows for button in row["components"]]
    ids = [button["custom_id"] for button in buttons]
    if len(rows) > 5 or any(not 1 <= len(row["components"]) <= 5 for row in rows):
        raise _invalid("components: at most 5 rows of at most 5 buttons")
    if len(set(ids)) != len(ids) or any(not 1 <= len(custom_id) <= 100 for custom_id in ids):
        raise _invalid("custom_id: from 1 to 100 characters, each once")
    if any(not 1 <= len(button["label"]) <= 80 for button in buttons):
        raise _invalid("label: Must be 80 or fewer in length.")


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
