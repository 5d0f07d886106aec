"""Speech: what speaks, what it costs, and what comes of it."""

from __future__ import annotations

from nanobot.errors import ModelProtocolError
from nanobot.providers.base import Price
from nanobot.providers.openai_errors import Speaker

_SOUNDS = (b"OggS", b"ID3", b"RIFF", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xf1")
_MILLION = 1_000_000
# Dollars for a million characters, as OpenAI lists them; gpt-4o-mini-tts is billed by what it says,
# about 0.015 a minute, in which some 900 characters are spoken.
_PRICES = {"tts-1": 15.0, "tts-1-hd": 30.0, "gpt-4o-mini-tts": 16.7}


def speech_price(model: str) -> Price | None:
    """What a character costs, where the configuration does not say it; None if it is not known."""
    dollars = _PRICES.get(model)
    return None if dollars is None else Price(prompt=dollars / _MILLION, completion=0.0)


def sound(data: bytes, speaker: Speaker) -> bytes:
    """What came, if it is sound. Raises ModelError."""
    if data.startswith(_SOUNDS):
        return data
    shown = data[:200].decode("utf-8", "replace")
    raise ModelProtocolError(
        f"{speaker.provider} sent something that is no sound: "
        f"{speaker.clean(shown or 'nothing')}. Check voice.model and voice.voice."
    )
