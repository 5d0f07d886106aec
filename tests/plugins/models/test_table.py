"""Prices and capabilities from a table that somebody else keeps."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from nanobot.config.settings.agent import PriceSettings, ProviderSettings
from nanobot.plugins.models.table import ModelTable, bundled_table
from nanobot.providers.base import Price, Usage

ROWS = {
    "sample_spec": {"litellm_provider": "one of ...", "max_input_tokens": "max input tokens"},
    "odd-1": {
        "litellm_provider": "openai",
        "input_cost_per_token": 1e-06,
        "output_cost_per_token": 4e-06,
        "cache_read_input_token_cost": 1e-07,
        "max_input_tokens": 50_000,
        "supports_vision": True,
        "mode": "chat",
    },
    "together_ai/Odd/Two": {
        "litellm_provider": "together_ai",
        "input_cost_per_token": 2e-06,
        "output_cost_per_token": 2e-06,
        "supports_function_calling": True,
    },
    "nova": {"litellm_provider": "bedrock_converse", "max_input_tokens": 300_000.0},
}

LOOKED_UP = (
    ("openai", "odd-1"),
    ("together", "Odd/Two"),
    ("groq", "odd-1"),
    ("openai", "unheard-of"),
    ("bedrock", "nova"),
    ("home", "m"),
)


@pytest.fixture
async def catalogue(tmp_path: Path) -> ModelTable:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(ROWS))
    prices = {"m": PriceSettings(prompt=1.0, completion=10.0)}
    table = ModelTable({"home": ProviderSettings(prices=prices)}, find=lambda: file)
    for provider, model in LOOKED_UP:
        await table.look_up(provider, model)
    return table


def test_a_price_is_found_under_litellms_name_for_the_provider(catalogue: ModelTable) -> None:
    assert catalogue.price_of("openai", "odd-1") == Price(
        prompt=1e-06, completion=4e-06, cached=1e-07
    )
    together = catalogue.price_of("together", "Odd/Two")
    assert together is not None
    assert together.cached is None


def test_a_model_of_another_provider_has_no_price_here(catalogue: ModelTable) -> None:
    assert catalogue.price_of("groq", "odd-1") is None
    assert catalogue.price_of("openai", "unheard-of") is None


def test_a_price_that_is_not_in_the_table_is_unknown_and_not_zero(catalogue: ModelTable) -> None:
    assert catalogue.price_of("bedrock", "nova") is None


def test_the_configuration_comes_first_and_counts_in_millions(catalogue: ModelTable) -> None:
    price = catalogue.price_of("home", "m")
    assert price is not None
    assert (price.prompt, price.completion) == (1e-06, 1e-05)


def test_what_a_call_cost_counts_cached_tokens_apart() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=100, cached_tokens=600)
    assert Price(prompt=2.0, completion=10.0, cached=0.5).of(usage) == 800 + 300 + 1000
    assert Price(prompt=2.0, completion=10.0).of(usage) == 2000 + 1000


def test_unknown_models_take_their_capabilities_from_the_table(catalogue: ModelTable) -> None:
    odd = catalogue.profile("openai", "odd-1")
    assert (odd.context_tokens, odd.tools, odd.images) == (50_000, False, True)
    assert catalogue.profile("bedrock", "nova").context_tokens == 300_000
    assert catalogue.profile("together", "Odd/Two").tools


def test_models_that_our_own_table_knows_stay_as_they_are(catalogue: ModelTable) -> None:
    assert catalogue.profile("openai", "gpt-4o-mini").context_tokens == 128_000
    assert catalogue.profile("acme", "never-heard-of").context_tokens == 128_000


def test_of_models_that_were_not_looked_up_nothing_is_read(
    tmp_path: Path,
) -> None:
    def untouched() -> Path | None:
        raise AssertionError("the table was read")

    table = ModelTable(find=untouched)
    assert table.price_of("openai", "gpt-5-mini") is None
    assert table.profile("openai", "odd-1").context_tokens == 128_000


@pytest.mark.parametrize("text", ["", "[1]", "{", None])
async def test_a_table_that_cannot_be_read_is_no_table(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "prices.json"
    if text is not None:
        file.write_text(text)
    table = ModelTable(find=lambda: file)
    await table.look_up("openai", "odd-1")
    assert table.price_of("openai", "odd-1") is None


@pytest.mark.parametrize(
    "nonsense",
    [
        {"max_input_tokens": -1},
        {"max_input_tokens": 10**15},
        {"input_cost_per_token": -0.1},
        {"output_cost_per_token": 1e300},
    ],
    ids=str,
)
async def test_a_row_with_a_senseless_number_is_no_row(
    tmp_path: Path, nonsense: dict[str, float]
) -> None:
    row = {"litellm_provider": "openai", "input_cost_per_token": 1e-6, "output_cost_per_token": 1}
    file = tmp_path / "prices.json"
    file.write_bytes(msgspec.json.encode({"openai/odd-1": row | nonsense}))
    table = ModelTable(find=lambda: file)
    await table.look_up("openai", "odd-1")
    assert table.price_of("openai", "odd-1") is None
    assert table.profile("openai", "odd-1").context_tokens > 0


async def test_litellms_own_table_is_found_and_read() -> None:
    assert bundled_table() is not None
    table = ModelTable()
    await table.look_up("openai", "gpt-5-mini")
    await table.look_up("bedrock", "us.amazon.nova-pro-v1:0")
    price = table.price_of("openai", "gpt-5-mini")
    assert price is not None
    assert 0 < price.prompt < price.completion
    assert table.profile("bedrock", "us.amazon.nova-pro-v1:0").images
