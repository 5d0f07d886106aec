"""Speech: models that speak, their prices, and checking their output."""

from __future__ import annotations

from nanobot.errors import ModelProtocolError
from nanobot.providers.base import Price
from nanobot.providers.openai_errors import Speaker

_SOUNDS = (b"OggS", b"ID3", b"RIFF", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xf1")
_MILLION = 1_000_000
# Dollars per million characters, from OpenAI's price list; gpt-4o-mini-tts is billed by its output,
# about 0.015 a minute, in which about 900 characters are spoken.
_PRICES = {"tts-1": 15.0, "tts-1-hd": 30.0, "gpt-4o-mini-tts": 16.7}


def speech_price(model: str) -> Price | None:
    """The price per character if the configuration has none; None if it is not known."""
    dollars = _PRICES.get(model)
    return None if dollars is None else Price(prompt=dollars / _MILLION, completion=0.0)


def sound(data: bytes, speaker: Speaker) -> bytes:
    """The response, if it is sound. Raises ModelError."""
    if data.startswith(_SOUNDS):
        return data
    shown = data[:200].decode("utf-8", "replace")
    raise ModelProtocolError(
        f"{speaker.provider} sent something that is not sound: "
        f"{speaker.clean(shown or 'nothing')}. Check voice.model and voice.voice."
    )
