"""Words become sound: by the lean client, or said why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.config.settings.agent import ModelSettings, PriceSettings, ProviderSettings
from nanobot.errors import ConfigError, ModelProtocolError, ModelRefused, ModelUnreachable
from nanobot.plugins.voice.settings import VoiceSettings
from nanobot.plugins.voice.speech import ProviderSpeech, sound, speak
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.openai_errors import Speaker
from nanobot.providers.registry import ProviderRegistry
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import OpenAIServer


def registry(home: Path, **providers: ProviderSettings) -> ProviderRegistry:
    return ProviderRegistry("mine/m", providers, {}, home, ManualClock())


def speech(known: ProviderRegistry, model: str = "mine/tts-1") -> ProviderSpeech:
    return ProviderSpeech(known, VoiceSettings(answers="on", model=model, voice="nova"))


async def test_the_text_goes_out_with_the_voice_and_sound_comes_back(
    server: OpenAIServer, tmp_path: Path
) -> None:
    known = registry(tmp_path, mine=ProviderSettings(api_key="k", api_base=server.base_url))
    assert (await speech(known).speak("hello")).startswith(b"OggS")
    assert server.speeches == [
        {"model": "tts-1", "input": "hello", "voice": "nova", "response_format": "opus"}
    ]
    await known.close()


async def test_a_refusal_and_an_endpoint_that_is_not_there_are_said(
    server: OpenAIServer, tmp_path: Path
) -> None:
    server.mute = "no such voice"
    known = registry(tmp_path, mine=ProviderSettings(api_key="k", api_base=server.base_url))
    with pytest.raises(ModelRefused, match="no such voice"):
        await speech(known).speak("hello")
    await known.close()
    lost = OpenAICompatProvider("mine", "http://127.0.0.1:1/v1", "", clock=ManualClock())
    with pytest.raises(ModelUnreachable):
        await speak("x", "nova", lost.endpoint("tts-1"))
    await lost.close()


@pytest.mark.parametrize("data", [b"", b'{"error": "quota"}', b"<html>"])
def test_what_is_no_sound_is_said_with_the_settings(data: bytes) -> None:
    with pytest.raises(ModelProtocolError, match=r"not sound.*voice\.model"):
        sound(data, Speaker("mine", "tts-1", "http://a", "k"))


async def test_a_model_that_cannot_speak_is_named_with_the_setting(tmp_path: Path) -> None:
    known = registry(tmp_path)
    with pytest.raises(ConfigError, match=r"voice\.model"):
        await speech(known, "embedded").speak("hello")
    await known.close()


async def test_a_character_costs_what_the_configuration_says_else_what_its_maker_lists(
    server: OpenAIServer, tmp_path: Path
) -> None:
    models = {"special": ModelSettings(price=PriceSettings(prompt=5.0, completion=0.0))}
    known = registry(
        tmp_path,
        openai=ProviderSettings(api_key="k", api_base=server.base_url, models=models),
        other=ProviderSettings(api_key="k", api_base=server.base_url),
    )
    prices = [
        (await speech(known, label).profile()).price
        for label in ("openai/special", "openai/tts-1", "openai/unheard-of", "other/tts-1")
    ]
    assert [price and price.prompt for price in prices] == [5e-06, 15e-06, None, None]
    await known.close()
