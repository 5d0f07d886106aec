"""Vectors of texts from a provider: by the lean client, or said why not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ConfigError, ModelProtocolError, ModelRefused
from nanobot.plugins.memory.provider_vectors import ProviderEmbedder, embed
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.registry import ProviderRegistry
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import Fault, OpenAIServer, error_status


@pytest.fixture
async def provider(server: OpenAIServer) -> AsyncIterator[OpenAICompatProvider]:
    opened = OpenAICompatProvider("mine", server.base_url, "secret-key", clock=ManualClock())
    yield opened
    await opened.close()


async def test_each_text_gets_its_vector_in_order(
    server: OpenAIServer, provider: OpenAICompatProvider
) -> None:
    assert await embed(["a", "绿茶", ""], provider.endpoint("small")) == [
        [1.0, 0.0],
        [2.0, 1.0],
        [0.0, 2.0],
    ]
    rows = [{"embedding": [2], "index": 1}, {"embedding": [1], "index": 0}]
    server.fail_with(Fault(status=200, body=json.dumps({"data": rows})))
    assert await embed(["x", "y"], provider.endpoint("small")) == [[1.0], [2.0]]


async def test_what_may_pass_is_asked_again_and_a_refusal_is_not(
    server: OpenAIServer, provider: OpenAICompatProvider
) -> None:
    server.fail_with(error_status(429), error_status(503))
    assert await embed(["a"], provider.endpoint("small")) == [[1.0, 0.0]]
    server.fail_with(error_status(401, "bad key secret-key"), error_status(401))
    with pytest.raises(ModelRefused) as refused:
        await embed(["a"], provider.endpoint("small"))
    assert "secret-key" not in str(refused.value)
    assert len(server.faults) == 1


@pytest.mark.parametrize("body", ["<html>", "{}", '{"data": []}', '{"data": [{"embedding": "x"}]}'])
async def test_an_answer_that_is_none_is_said(
    server: OpenAIServer, provider: OpenAICompatProvider, body: str
) -> None:
    server.fail_with(Fault(status=200, body=body))
    with pytest.raises(ModelProtocolError):
        await embed(["a"], provider.endpoint("small"))


async def test_the_roster_asks_the_provider_of_the_label(
    server: OpenAIServer, tmp_path: Path
) -> None:
    mine = ProviderSettings(api_key="k", api_base=server.base_url)
    known = ProviderRegistry("mine/m", {"mine": mine}, {}, tmp_path, ManualClock())
    assert await ProviderEmbedder(known, "mine/small", 0.25).embed(["abc"]) == [[3.0, 0.0]]
    with pytest.raises(ConfigError, match=r"memory\.embedding_model is 'embedded'"):
        await ProviderEmbedder(known, "embedded", 0.25).embed(["abc"])
    await known.close()
