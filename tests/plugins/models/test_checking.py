"""Models that somebody names: those that are nowhere are refused with the nearest."""

from __future__ import annotations

import pytest

from nanobot.config.settings.agent import ModelSettings, ProviderSettings
from nanobot.errors import ConfigError, UsageError
from nanobot.plugins.models.checking import check_model
from tests.doubles.openai_server import OpenAIServer

HERE = {"OPENAI_API_KEY": "k", "HTTPS_PROXY": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    "label",
    [
        "auto",
        "",
        "embedded",
        "openai/gpt-5-mini",
        "anthropic/claude-sonnet-4-5",
        "gemini/gemini-2.5-pro",
    ],
)
async def test_a_model_of_the_tables_is_taken_without_asking(label: str) -> None:
    await check_model(label, {}, HERE, reachable=False)


@pytest.mark.parametrize(
    ("label", "near"),
    [
        ("opnai/gpt-5-mini", '"openai/gpt-5-mini"'),
        ("openai/gpt-5-minii", '"openai/gpt-5-mini"'),
        ("embedded/foo", '"embedded/smollm2-135m-instruct"'),
        ("anthropic/claude-sonet-4-5", '"anthropic/claude-sonnet-4-5"'),
        ("nonexistent", "PROVIDER/nonexistent"),
    ],
)
async def test_what_is_nowhere_is_refused_with_the_nearest(label: str, near: str) -> None:
    with pytest.raises((ConfigError, UsageError)) as refused:
        await check_model(label, {}, HERE, reachable=False)
    assert near in str(refused.value)
    assert "agent.model" not in str(refused.value)  # /model asks, too


async def test_an_endpoint_of_ones_own_is_asked_for_its_list() -> None:
    async with OpenAIServer() as server:
        server.models = ["qwen3:latest", "models/flash"]
        described = {"mine": ModelSettings(context=8_000)}
        own = {"own": ProviderSettings(api_base=server.base_url, api_key="k", models=described)}
        for model in ("qwen3:latest", "qwen3", "flash", "mine"):
            await check_model(f"own/{model}", own, {})
        await check_model("qwen3", own, {})  # the only provider
        with pytest.raises(UsageError, match='lists no model "qwen4": did you mean "own/qwen3'):
            await check_model("own/qwen4", own, {})
        with pytest.raises(UsageError, match="option force takes it all the same"):
            await check_model("nonexistent", own, {})


async def test_without_a_list_only_force_takes_it() -> None:
    dead = {"dead": ProviderSettings(api_base="http://127.0.0.1:9/v1", api_key="k")}
    with pytest.raises(UsageError, match="gives no list of its models now"):
        await check_model("dead/any", dead, {})
