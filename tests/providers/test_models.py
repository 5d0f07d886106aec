"""The tables of models, and the choice that `auto` makes."""

from __future__ import annotations

import pytest

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ConfigError
from nanobot.providers.capabilities import profile_for
from nanobot.providers.known_providers import KNOWN_PROVIDERS
from nanobot.providers.model_choice import (
    ModelChoice,
    Probe,
    choose,
    http_probe,
)
from nanobot.system import is_loopback
from tests.doubles.openai_server import OpenAIServer


def answering(**servers: tuple[str, ...]) -> Probe:
    """A probe of a machine where only these ports answer, written `p11434=("model",)`."""

    async def probe(url: str) -> tuple[str, ...] | None:
        return next((names for port, names in servers.items() if f":{port[1:]}/" in url), None)

    return probe


async def untouched(url: str) -> tuple[str, ...] | None:
    raise AssertionError(f"{url} was asked, and nothing should be")


async def pick(
    model: str = "auto",
    probe: Probe = untouched,
    environ: dict[str, str] | None = None,
    **providers: ProviderSettings,
) -> ModelChoice:
    return await choose(model, providers, environ or {}, probe)


@pytest.mark.parametrize(
    ("provider", "model", "context", "tools", "images"),
    [
        ("openai", "gpt-4o-mini", 128_000, True, True),
        ("openrouter", "meta-llama/llama-3.3-70b-instruct", 128_000, True, False),
        ("openrouter", "anthropic/claude-sonnet-4.5", 200_000, True, True),
        ("together", "Qwen/Qwen2.5-VL-72B", 128_000, True, True),
        ("acme", "never-heard-of", 128_000, True, False),
        ("ollama", "llama3.2", 8_192, True, False),
    ],
)
def test_families_are_known_by_their_names(
    provider: str, model: str, context: int, tools: bool, images: bool
) -> None:
    profile = profile_for(provider, model)
    assert (profile.name, profile.provider) == (model, provider)
    assert (profile.context_tokens, profile.tools, profile.images) == (context, tools, images)
    assert profile.helper_calls


def test_the_embedded_model_is_small_and_says_so() -> None:
    profile = profile_for("embedded", "smollm2-135m-instruct")
    assert not profile.tools
    assert not profile.helper_calls
    assert profile.short_prompt
    assert profile.context_tokens == 2_048


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
    choice = await choose(f"{name}/some/model", {name: own}, {}, untouched)
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


async def test_a_variable_that_is_no_address_is_named() -> None:
    with pytest.raises(ConfigError, match="the variable OPENAI_BASE_URL is 'nowhere'"):
        await pick("openai/gpt-5-mini", environ={"OPENAI_BASE_URL": "nowhere"})


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
