"""Voice messages (Discord, Message Resource: "Voice Messages")."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from nanobot.ports import OutboundPart
from nanobot_channels.common.recordings import measure

_IS_VOICE_MESSAGE = 1 << 13
_NAME = "voice-message.ogg"


def form(
    part: OutboundPart, content: bytes, about: Mapping[str, Any]
) -> list[dict[str, Any]] | None:
    """The form that sends a recording as a voice message, in addition to `about`; None if the part
    must be sent as a file. Such a message has no text.
    """
    recording = measure(content) if part.file is not None and part.file.kind == "voice" else None
    if recording is None or part.text.strip():
        return None
    file = {
        "id": "0",
        "filename": _NAME,
        "duration_secs": round(recording.seconds, 2),
        "waveform": base64.b64encode(recording.waveform).decode(),
    }
    payload = {**about, "flags": _IS_VOICE_MESSAGE, "attachments": [file]}
    return [
        {"name": "payload_json", "value": msgspec.json.encode(payload).decode()},
        # With another type it is not a voice message, and has no length.
        {"name": "files[0]", "value": content, "filename": _NAME, "content_type": "audio/ogg"},
    ]
