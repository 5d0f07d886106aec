"""Speech by a model: through an OpenAI-compatible endpoint, or by its provider's own API.

https://platform.openai.com/docs/api-reference/audio/createSpeech
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace

from nanobot.errors import ConfigError, ModelProtocolError
from nanobot.plugins.common.models.endpoints import HasEndpoint
from nanobot.plugins.common.models.prices import PricedModels
from nanobot.plugins.voice.settings import VoiceSettings
from nanobot.providers.base import ModelProfile, Price
from nanobot.providers.openai_errors import Speaker
from nanobot.providers.registry import ProviderRegistry
from nanobot.providers.retrying import Endpoint

_MAX_BYTES = 10_000_000
_SOUNDS = (b"OggS", b"ID3", b"RIFF", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xf1")
_MILLION = 1_000_000
# Dollars per million characters, from OpenAI's price list; gpt-4o-mini-tts is billed by its output,
# about 0.015 a minute, in which about 900 characters are spoken.
_PRICES = {"tts-1": 15.0, "tts-1-hd": 30.0, "gpt-4o-mini-tts": 16.7}


@runtime_checkable
class Speaks(Protocol):
    """A provider that speaks with an API of its own."""

    async def speak(self, text: str, voice: str, model: str) -> bytes:
        """The text as a recording. Raises ModelError."""


class ProviderSpeech:
    """Speaks with one model and one voice; see speaking.Speech."""

    def __init__(self, registry: ProviderRegistry, settings: VoiceSettings) -> None:
        self.max_characters = settings.max_characters
        self._registry = registry
        self._label = settings.model
        self._voice = settings.voice

    async def profile(self) -> ModelProfile:
        """The model's profile; a token of its price is a character. The price is that of the
        configuration, otherwise that of the maker's price list. Raises ModelError or ConfigError.
        """
        _, profile = await self._registry.pick(self._label)
        choice = await self._registry.choice(self._label)
        price = await PricedModels(self._registry.settings).find_price(choice)
        if price is None and profile.provider == "openai":
            price = speech_price(profile.name)
        return replace(profile, price=price)

    async def speak(self, text: str) -> bytes:
        """Convert the text to sound. Raises ModelError, or ConfigError if the provider cannot
        speak."""
        provider, profile = await self._registry.pick(self._label)
        if isinstance(provider, Speaks):
            choice = await self._registry.choice(self._label)
            data = await provider.speak(text, self._voice, profile.name)
            speaker = Speaker(choice.provider_name, profile.name, choice.api_base, choice.api_key)
            return sound(data, speaker)
        if isinstance(provider, HasEndpoint):
            return await speak(text, self._voice, provider.endpoint(profile.name))
        raise ConfigError(
            f"voice.model is {self._label!r}, which cannot speak: "
            'name another, such as "openai/gpt-4o-mini-tts"'
        )


async def speak(text: str, voice: str, endpoint: Endpoint) -> bytes:
    """The text as sound: Opus in Ogg, if the endpoint supports it. Makes up to three attempts if a
    retry may help; raises the ModelError of the last.
    """
    # Imports aiohttp, which the first call needs and a start does not.
    from nanobot.plugins.common.models.openai_once import SingleRequest, ask_once  # noqa: PLC0415

    model = endpoint.speaker.model
    body = {"model": model, "input": text, "voice": voice, "response_format": "opus"}
    call = SingleRequest(
        path="audio/speech",
        body=msgspec.json.encode(body),
        answer=bytes,
        max_bytes=_MAX_BYTES,
    )
    return sound(await ask_once(call, endpoint), endpoint.speaker)


def speech_price(model: str) -> Price | None:
    """The price per character in the price list; None if it is not known."""
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
