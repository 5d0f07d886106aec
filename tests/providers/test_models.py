"""The choice of a model by its label."""

from __future__ import annotations

import pytest

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ConfigError
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.providers.model_choice import choose
from nanobot.system import is_loopback
from tests.plugins.auto.picking import answering, pick


async def test_an_explicit_model_keeps_its_slashes() -> None:
    choice = await pick("openrouter/meta/llama-3", environ={"OPENROUTER_API_KEY": "k"})
    assert (choice.provider_name, choice.model) == ("openrouter", "meta/llama-3")
    assert choice.api_base == KNOWN_PROVIDERS["openrouter"].api_base
    assert choice.api_key == "k"


async def test_a_provider_of_ones_own_needs_an_address_but_no_key() -> None:
    home = ProviderSettings(api_base="http://10.0.0.7:9000/v1")
    choice = await pick("home/some/model", home=home)
    assert (choice.model, choice.api_base, choice.api_key) == ("some/model", home.api_base, "")
    with pytest.raises(ConfigError, match=r"providers\.home\.api_base is missing"):
        await pick("home/model", home=ProviderSettings(api_key="k"))


async def test_litellm_needs_no_address() -> None:
    choice = await pick("bedrock/nova", bedrock=ProviderSettings(client="litellm"))
    assert (choice.client, choice.api_base) == ("litellm", "")


@pytest.mark.parametrize("name", ["bedrock", "vertex_ai", "azure", "cohere", "huggingface"])
async def test_providers_of_another_protocol_are_reached_through_litellm(name: str) -> None:
    assert (await pick(f"{name}/some/model")).client == "litellm"
    own = ProviderSettings(api_key="k", api_base="https://mine.example.com")
    choice = await choose(f"{name}/some/model", {name: own}, {})
    assert (choice.client, choice.model) == ("litellm", "some/model")
    assert (choice.api_base, choice.api_key) == (own.api_base, "k")


async def test_compatible_providers_at_addresses_of_litellms_need_none() -> None:
    assert (await pick("perplexity/sonar")).client == "litellm"
    own = ProviderSettings(api_base="https://mine.example.com/v1")
    assert (await pick("perplexity/sonar", perplexity=own)).client == "lean"


async def test_either_client_can_be_forced() -> None:
    forced = ProviderSettings(api_key="k", client="litellm")
    assert (await pick("openai/gpt-5", openai=forced)).client == "litellm"
    lean = ProviderSettings(api_base="https://x.example.com/v1", client="lean")
    assert (await pick("azure/gpt-5", azure=lean)).client == "lean"
    with pytest.raises(ConfigError, match=r"providers\.bedrock\.api_base is missing"):
        await pick("bedrock/nova", bedrock=ProviderSettings(client="lean"))


async def test_a_name_that_is_nearly_litellms_is_offered() -> None:
    with pytest.raises(ConfigError, match='did you mean "bedrock/nova"'):
        await pick("bedrok/nova")
    with pytest.raises(ConfigError, match="and more through litellm"):
        await pick("zzzz/nova")


async def test_an_unknown_provider_is_answered_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match='did you mean "openrouter/meta/llama"'):
        await pick("opnrouter/meta/llama")


async def test_a_forgotten_provider_is_guessed_if_there_is_only_one() -> None:
    settings = ProviderSettings(api_key="k")
    with pytest.raises(ConfigError, match='did you mean "openrouter/qwenlm/llama"'):
        await pick("qwenlm/llama", openrouter=settings)
    assert (await pick("gpt-5", openai=settings)).provider_name == "openai"


async def test_a_provider_without_its_model_is_explained() -> None:
    with pytest.raises(ConfigError, match='write "deepseek/deepseek-flash"'):
        await pick("deepseek")
    with pytest.raises(ConfigError, match='write "PROVIDER/gpt-5"'):
        await pick("gpt-5")


async def test_a_missing_key_is_named() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        await pick("openai/gpt-5")


async def test_a_local_server_needs_no_key() -> None:
    choice = await pick("ollama/llama3.2")
    assert choice.api_base == "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize(
    ("variable", "text", "base"),
    [
        ("OPENAI_BASE_URL", "https://proxy.example/openai/v1/", "https://proxy.example/openai/v1"),
        ("OPENAI_API_BASE", "http://127.0.0.1:9", "http://127.0.0.1:9/v1"),
        ("ANTHROPIC_BASE_URL", "https://proxy.example", "https://proxy.example/v1"),
        ("DEEPSEEK_BASE_URL", "https://proxy.example/v1", "https://proxy.example/v1"),
    ],
)
async def test_the_variable_of_a_providers_address_is_heeded(
    variable: str, text: str, base: str
) -> None:
    name = variable.split("_")[0].lower()
    environ = {variable: text}
    named = await pick(f"{name}/some-model", environ=environ)
    assert (named.api_base, named.model) == (base, "some-model")
    picked = await pick("auto", answering(), environ)
    assert (picked.provider_name, picked.api_base) == (name, base)
    assert f"{variable} is set" in picked.why
    configured = {name: ProviderSettings(api_base="http://h/")}
    assert (await choose(f"{name}/x", configured, environ)).api_base == "http://h/"


async def test_a_variable_that_is_no_address_is_named() -> None:
    with pytest.raises(ConfigError, match="the variable OPENAI_BASE_URL is 'nowhere'"):
        await pick("openai/gpt-5-mini", environ={"OPENAI_BASE_URL": "nowhere"})


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.9/v1", True),
        ("http://[::1]:8/v1", True),
        ("http://10.0.0.1/v1", False),
        ("https://localhost.example.com/v1", False),
    ],
)
def test_loopback_is_known_by_its_address(url: str, local: bool) -> None:
    assert is_loopback(url) == local
