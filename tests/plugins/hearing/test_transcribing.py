"""Voice messages become words: by the lean client, or said why not."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.config.loader import load
from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import (
    ConfigError,
    ModelProtocolError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from nanobot.plugins.hearing.transcribing import ProviderTranscriber, objects, transcribe
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.registry import ProviderRegistry
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import Fault, OpenAIServer, error_status


@pytest.fixture
async def provider(server: OpenAIServer) -> AsyncIterator[OpenAICompatProvider]:
    opened = OpenAICompatProvider("mine", server.base_url, "secret-key", clock=ManualClock())
    yield opened
    await opened.close()


def registry(server: OpenAIServer, home: Path) -> ProviderRegistry:
    mine = ProviderSettings(api_key="k", api_base=server.base_url)
    return ProviderRegistry("mine/m", {"mine": mine}, {}, home, ManualClock())


async def test_the_recording_goes_out_as_a_form(
    server: OpenAIServer, provider: OpenAICompatProvider
) -> None:
    text = await transcribe(b"hello", "note.ogg", provider.endpoint("whisper-1"))
    assert text == "note.ogg by whisper-1: hello"
    assert server.headers[-1]["authorization"] == "Bearer secret-key"


async def test_bytes_and_names_of_any_kind_arrive_as_they_are(
    provider: OpenAICompatProvider,
) -> None:
    odd = "--\r\n\r\n--boundary\r\nContent-Disposition: x"
    assert (await transcribe(odd.encode(), "a.ogg", provider.endpoint("w"))).endswith(odd)
    assert await transcribe(b"x", 'sö "n\r\nX: y', provider.endpoint("w")) == "sö _n__X: y by w: x"
    large = b"z" * 3_000_000
    assert len(await transcribe(large, "a.ogg", provider.endpoint("w"))) > len(large)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_asked_again(
    server: OpenAIServer, provider: OpenAICompatProvider, status: int
) -> None:
    server.fail_with(error_status(status), error_status(status))
    assert await transcribe(b"x", "a.ogg", provider.endpoint("w")) == "a.ogg by w: x"


async def test_what_does_not_pass_is_raised_after_three_attempts(
    server: OpenAIServer, provider: OpenAICompatProvider
) -> None:
    server.fail_with(*[error_status(429)] * 4)
    with pytest.raises(ModelRateLimited):
        await transcribe(b"x", "a.ogg", provider.endpoint("w"))
    assert len(server.faults) == 1


async def test_a_refusal_is_raised_at_once_without_the_key(
    server: OpenAIServer, provider: OpenAICompatProvider
) -> None:
    server.fail_with(error_status(401, "bad key secret-key"), error_status(401))
    with pytest.raises(ModelRefused) as refused:
        await transcribe(b"x", "a.ogg", provider.endpoint("w"))
    assert "secret-key" not in str(refused.value)
    assert len(server.faults) == 1


@pytest.mark.parametrize("body", ["<html>", "{}", '{"text": 5}', ""])
async def test_an_answer_that_is_none_is_said(
    server: OpenAIServer, provider: OpenAICompatProvider, body: str
) -> None:
    server.fail_with(Fault(status=200, body=body))
    with pytest.raises(ModelProtocolError):
        await transcribe(b"x", "a.ogg", provider.endpoint("w"))


async def test_nobody_there_is_said(server: OpenAIServer) -> None:
    lost = OpenAICompatProvider("mine", "http://127.0.0.1:1/v1", "", clock=ManualClock())
    with pytest.raises(ModelUnreachable):
        await transcribe(b"x", "a.ogg", lost.endpoint("w"))
    await lost.close()


async def test_the_roster_takes_the_lean_client_and_loads_nothing_else(
    server: OpenAIServer, tmp_path: Path
) -> None:
    known = registry(server, tmp_path)
    before = "litellm" in sys.modules
    transcriber = ProviderTranscriber(known, "mine/whisper-1")
    assert await transcriber.transcribe(b"hello", "a.ogg") == "a.ogg by whisper-1: hello"
    assert ("litellm" in sys.modules) == before
    await known.close()


async def test_a_model_that_cannot_hear_is_named_with_the_setting(
    server: OpenAIServer, tmp_path: Path
) -> None:
    known = registry(server, tmp_path)
    transcriber = ProviderTranscriber(known, "embedded")
    with pytest.raises(ConfigError, match=r"agent\.transcription_model"):
        await transcriber.transcribe(b"x", "a.ogg")
    await known.close()


def test_without_a_model_nobody_transcribes(server: OpenAIServer, tmp_path: Path) -> None:
    config = load({"NANOBOT_HOME": str(tmp_path)})
    assert objects(config, registry(server, tmp_path)) == {}
