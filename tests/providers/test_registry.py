"""Which provider the registry makes for which choice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.config.settings.agent import PriceSettings, ProviderSettings
from nanobot.plugins.embedded.provider import EmbeddedProvider
from nanobot.plugins.litellm.provider import LiteLLMProvider
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.registry import ProviderRegistry
from nanobot.testing.machine import ManualClock

PROVIDERS = {
    "openai": ProviderSettings(
        api_key="k", prices={"mine": PriceSettings(prompt=1.0, completion=2.0)}
    ),
    "bedrock": ProviderSettings(),
    "groq": ProviderSettings(api_key="k", client="litellm"),
}


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[ProviderRegistry]:
    registry = ProviderRegistry("openai/mine", PROVIDERS, {}, tmp_path, ManualClock())
    yield registry
    await registry.close()


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("openai/gpt-5-mini", OpenAICompatProvider),
        ("bedrock/nova", LiteLLMProvider),
        ("groq/llama-3.3-70b", LiteLLMProvider),
        ("embedded", EmbeddedProvider),
    ],
)
async def test_each_choice_gets_its_client(
    registry: ProviderRegistry, label: str, kind: type
) -> None:
    provider, profile = await registry.pick(label)
    assert isinstance(provider, kind)
    assert profile.provider == label.partition("/")[0]
    assert (await registry.pick(label))[0] is provider


async def test_a_price_is_known_or_none(registry: ProviderRegistry) -> None:
    price = (await registry.pick())[1].price
    assert price is not None
    assert price.prompt == 1e-06
    assert (await registry.pick("openai/nobody-knows-this"))[1].price is None
    free = (await registry.pick("embedded"))[1].price
    assert free is not None
    assert (free.prompt, free.completion) == (0.0, 0.0)
