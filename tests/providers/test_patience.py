"""How long an answer may take to begin, by configuration and by where the endpoint is."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.config.settings.agent import ModelSettings, ProviderSettings
from nanobot.errors import ModelUnreachable
from nanobot.providers.base import ModelProfile
from nanobot.providers.model_choice import is_local
from nanobot.providers.model_facts import ModelFacts, configured
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.registry import ProviderRegistry
from nanobot.providers.retrying import CallPolicy
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import Answer, Fault, OpenAIServer, events, sse
from tests.providers.asking import ask


def registry(home: Path, settings: ProviderSettings) -> ProviderRegistry:
    return ProviderRegistry("home/m-1", {"home": settings}, {}, home, ManualClock())


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://10.0.0.7:8000/v1", True),
        ("http://192.168.1.5/v1", True),
        ("http://100.64.0.3/v1", True),
        ("http://[fd00::1]:8080/v1", True),
        ("http://ollama:11434/v1", True),
        ("http://gpu.local/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://8.8.8.8/v1", False),
        ("", False),
    ],
)
def test_addresses_of_ones_own_network_are_local(url: str, local: bool) -> None:
    assert is_local(url) is local


def test_local_servers_have_ten_minutes_and_the_configuration_decides() -> None:
    assert CallPolicy.of(0.0, local=False) == CallPolicy()
    assert CallPolicy.of(0.0, local=True).first_token_seconds == 600.0
    patient = CallPolicy.of(3600.0, local=False)
    assert (patient.first_token_seconds, patient.call_seconds) == (3600.0, 4380.0)


async def test_the_providers_setting_limits_how_long_an_answer_takes_to_begin(
    server: OpenAIServer, tmp_path: Path
) -> None:
    settings = ProviderSettings(api_base=server.base_url, first_token_seconds=0.05)
    models = registry(tmp_path, settings)
    provider, _ = await models.pick()
    server.fail_with(*[Fault(hang=True)] * 6)
    with pytest.raises(ModelUnreachable, match="no answer in time"):
        await provider.chat(ask("hello"))
    await models.close()


async def test_signs_of_life_are_no_beginning_of_an_answer(server: OpenAIServer) -> None:
    """Servers send comments and an empty first event while they read the prompt."""
    role, *rest = events(Answer("here"))
    pieces = (b": processing\n\n", sse([role], done=False), sse(rest))
    server.fail_with(Fault(pieces=pieces, pause=0.3))
    policy = CallPolicy(attempts=1, first_token_seconds=5.0, stall_seconds=0.1)
    provider = OpenAICompatProvider("acme", server.base_url, clock=ManualClock(), policy=policy)
    assert (await provider.chat(ask("hello"))).text == "here"
    await provider.close()


async def test_what_a_model_of_ones_own_can_do_is_configured(tmp_path: Path) -> None:
    seeing = ModelSettings(images=True, context=32_768, tools=False)
    models = registry(
        tmp_path, ProviderSettings(api_base="http://127.0.0.1:9/v1", models={"m-1": seeing})
    )
    _, profile = await models.pick()
    assert (profile.images, profile.tools, profile.context_tokens) == (True, False, 32_768)
    _, other = await models.pick("home/m-2")
    assert (other.images, other.tools, other.context_tokens) == (False, True, 128_000)
    await models.close()


def test_what_the_configuration_leaves_out_is_as_the_tables_say() -> None:
    settings = ProviderSettings(models={"gpt-4o": ModelSettings(tools=False)})
    profile = ModelFacts({"openai": settings}).profile("openai", "gpt-4o")
    assert (profile.images, profile.tools, profile.context_tokens) == (True, False, 128_000)
    theirs = ModelProfile(name="gpt-4o", provider="p", images=True)
    assert configured(theirs, settings) == ModelProfile(
        name="gpt-4o", provider="p", images=True, tools=False
    )
