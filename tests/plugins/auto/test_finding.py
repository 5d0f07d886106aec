"""The choice that `auto` makes."""

from __future__ import annotations

import pytest

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ConfigError
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.common.models.model_lists import http_probe
from tests.doubles.openai_server import OpenAIServer
from tests.plugins.auto.picking import answering, pick


async def test_auto_prefers_the_configuration_to_the_environment() -> None:
    choice = await pick(environ={"OPENAI_API_KEY": "k"}, groq=ProviderSettings(api_key="g"))
    assert (choice.provider_name, choice.api_key) == ("groq", "g")
    assert choice.model == KNOWN_PROVIDERS["groq"].default_model


async def test_auto_with_only_an_unknown_provider_asks_for_the_model() -> None:
    with pytest.raises(ConfigError, match=r'agent\.model = "home/MODEL"'):
        await pick(probe=answering(), home=ProviderSettings(api_base="http://10.0.0.7:9/v1"))


async def test_auto_asks_a_configured_endpoint_for_its_models() -> None:
    home = ProviderSettings(api_base="http://10.0.0.7:9/v1/")
    choice = await pick(probe=answering(p9=("bge-m3", "qwen3")), home=home)
    assert (choice.provider_name, choice.model) == ("home", "qwen3")


async def test_auto_takes_a_key_from_the_environment_and_says_which() -> None:
    choice = await pick(environ={"OPENAI_API_KEY": " ", "GOOGLE_API_KEY": "g"})
    assert choice.provider_name == "gemini"
    assert "GOOGLE_API_KEY is set" in choice.why
    assert "agent.model" in choice.why


async def test_auto_finds_a_server_on_this_machine() -> None:
    choice = await pick(probe=answering(p1234=("nomic-embed-text", "qwen3-8b"), p8080=("x",)))
    assert (choice.provider_name, choice.model) == ("lmstudio", "qwen3-8b")
    assert choice.api_base == "http://127.0.0.1:1234/v1"


async def test_a_local_server_without_models_is_passed_over() -> None:
    choice = await pick(probe=answering(p11434=(), p8080=("x",)))
    assert choice.provider_name == "llamacpp"


async def test_auto_ends_with_the_embedded_model() -> None:
    choice = await pick(probe=answering())
    assert (choice.provider_name, choice.client) == ("embedded", "embedded")
    assert "OPENAI_API_KEY" in choice.why
    assert "\n" not in choice.why
    assert (await pick("embedded")).client == "embedded"


async def test_auto_takes_a_model_that_the_address_of_the_variable_has() -> None:
    environ = {"OPENAI_BASE_URL": "http://10.0.0.7:4000/v1", "OPENAI_API_KEY": "k"}
    choice = await pick(probe=answering(p4000=("nomic-embed", "qwen3-8b")), environ=environ)
    assert (choice.model, choice.api_key) == ("qwen3-8b", "k")
    choice = await pick(probe=answering(p4000=("qwen3-8b", "gpt-6-luna")), environ=environ)
    assert choice.model == "gpt-6-luna"


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("10.0.0.7", "http://10.0.0.7:11434/v1"),
        ("0.0.0.0:12000", "http://127.0.0.1:12000/v1"),
        (":12000", "http://127.0.0.1:12000/v1"),
        ("https://gpu.lan:443", "https://gpu.lan:443/v1"),
    ],
)
async def test_ollama_is_looked_for_where_its_variable_says(text: str, base: str) -> None:
    async def probe(url: str) -> tuple[str, ...] | None:
        return ("qwen3",) if url == f"{base}/models" else None

    choice = await pick(probe=probe, environ={"OLLAMA_HOST": text})
    assert (choice.provider_name, choice.api_base) == ("ollama", base)


async def test_auto_finds_vllm_on_this_machine() -> None:
    choice = await pick(probe=answering(p8000=("qwen3",)))
    assert (choice.provider_name, choice.model) == ("vllm", "qwen3")


async def test_the_probe_reads_both_kinds_of_listing(unused_tcp_port: int) -> None:
    async with OpenAIServer() as server:
        server.models = ["one", "two"]
        root = server.base_url.removesuffix("/v1")
        assert await http_probe(f"{root}/v1/models") == ("one", "two")
        assert await http_probe(f"{root}/api/tags") == ("one", "two")
        assert await http_probe(f"{root}/nothing") is None
    assert await http_probe(f"http://127.0.0.1:{unused_tcp_port}/v1/models") is None
