"""The default model: the newest of its line that the provider itself lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.config.settings.agent import ProviderSettings
from nanobot.plugins.models.listing import newest
from nanobot.plugins.setup.available_models import default_model, find
from tests.doubles.anthropic_server import AnthropicServer


@pytest.mark.parametrize(
    ("default", "listed", "found"),
    [
        ("claude-sonnet-5-5", ["claude-sonnet-6", "claude-opus-7"], "claude-sonnet-6"),
        ("claude-sonnet-5-5", ["claude-sonnet-5-5", "claude-sonnet-4-6"], "claude-sonnet-5-5"),
        ("claude-sonnet-5-5", ["claude-sonnet-6-20270101"], "claude-sonnet-5-5"),
        ("gpt-6-luna", ["gpt-6.5-luna", "gpt-7-terra", "gpt-7-luna-preview"], "gpt-6.5-luna"),
        ("gemini-3.8-flash", ["gemini-4-flash", "gemini-4-flash-lite"], "gemini-4-flash"),
        ("gemini-3.8-flash", ["gemini-4-flash-preview", "gemini-4-flash-001"], "gemini-3.8-flash"),
        ("mistral-small-latest", ["mistral-small-2603"], "mistral-small-latest"),
        (
            "accounts/fireworks/models/deepseek-v4p1-flash",
            ["accounts/fireworks/models/deepseek-v4p2-flash"],
            "accounts/fireworks/models/deepseek-v4p2-flash",
        ),
        ("grok-4.7", [], "grok-4.7"),
        ("grok-4.7", ["grok-4.20", "grok-5", "grok-5-mini"], "grok-5"),
    ],
)
def test_the_newest_of_the_same_line_is_taken(default: str, listed: list[str], found: str) -> None:
    assert newest(default, listed) == found


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=20))
def test_any_list_gives_the_default_or_one_that_is_listed(default: str, listed: list[str]) -> None:
    found = newest(default, listed)
    assert found == default or found in listed


async def test_a_key_is_used_to_ask_for_the_list() -> None:
    async with AnthropicServer() as server:
        server.models = ["claude-sonnet-5-5", "claude-sonnet-6", "claude-opus-6"]
        settings = {"anthropic": ProviderSettings(api_key="k", api_base=server.root)}
        assert await default_model("anthropic", {}, settings) == "claude-sonnet-6"


async def test_what_is_offered_for_a_key_in_the_environment_is_the_newest(tmp_path: Path) -> None:
    async with AnthropicServer() as server:
        server.models = ["claude-sonnet-6"]
        environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.root}
        labels = [model.label for model in await find(environ, tmp_path, ())]
        assert labels[0] == "anthropic/claude-sonnet-6"


async def test_without_a_list_the_known_default_is_offered() -> None:
    settings = {"openai": ProviderSettings(api_key="k", api_base="http://127.0.0.1:9/v1")}
    assert await default_model("openai", {}, settings) == "gpt-6-luna"
