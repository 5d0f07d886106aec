"""Transcribes with an OpenAI-compatible endpoint: POST /audio/transcriptions.

https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

from __future__ import annotations

import re
import secrets

import msgspec

from nanobot.ports import Clock
from nanobot.providers.openai_errors import Speaker
from nanobot.providers.openai_once import SingleRequest, ask_once
from nanobot.providers.retrying import CallPolicy

_MAX_BYTES = 4_000_000
_UNQUOTED = re.compile(r'[\x00-\x1f"\\]')


class _Transcript(msgspec.Struct):
    text: str


class Recording(msgspec.Struct, frozen=True):
    """A recording to transcribe; `name` is its file name, from which endpoints determine its
    format.
    """

    audio: bytes
    name: str


def form(recording: Recording, model: str, boundary: str) -> bytes:
    """The body, as multipart/form-data."""
    name = _UNQUOTED.sub("_", recording.name) or "voice.ogg"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n{model}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode("utf-8", "replace") + recording.audio + f"\r\n--{boundary}--\r\n".encode()


async def transcribe(
    recording: Recording,
    speaker: Speaker,
    headers: dict[str, str],
    policy: CallPolicy,
    clock: Clock,
) -> str:
    """The transcript. Makes up to three attempts if a retry may help; raises the ModelError of the
    last.
    """
    boundary = secrets.token_hex(16)
    call = SingleRequest(
        path="audio/transcriptions",
        headers=headers | {"content-type": f"multipart/form-data; boundary={boundary}"},
        body=form(recording, speaker.model, boundary),
        answer=_Transcript,
        max_bytes=_MAX_BYTES,
    )
    return (await ask_once(call, speaker, policy, clock)).text
