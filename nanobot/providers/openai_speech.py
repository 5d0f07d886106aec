"""Speaks with an OpenAI-compatible endpoint: POST /audio/speech.

https://platform.openai.com/docs/api-reference/audio/createSpeech
"""

from __future__ import annotations

import msgspec

from nanobot.ports import Clock
from nanobot.providers.openai_errors import Speaker
from nanobot.providers.openai_once import SingleRequest, ask_once
from nanobot.providers.retrying import CallPolicy
from nanobot.providers.speech import sound

_MAX_BYTES = 10_000_000


async def speak(
    text: str,
    voice: str,
    speaker: Speaker,
    headers: dict[str, str],
    manners: tuple[CallPolicy, Clock],
) -> bytes:
    """The text as sound: Opus in Ogg, if the endpoint supports it. Makes up to three attempts if a
    retry may help; raises the ModelError of the last.
    """
    body = {"model": speaker.model, "input": text, "voice": voice, "response_format": "opus"}
    call = SingleRequest(
        path="audio/speech",
        headers=headers | {"content-type": "application/json"},
        body=msgspec.json.encode(body),
        answer=bytes,
        max_bytes=_MAX_BYTES,
    )
    return sound(await ask_once(call, speaker, *manners), speaker)
