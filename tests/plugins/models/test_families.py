"""The table of families, which also counts while the plugin is off."""

from __future__ import annotations

import pytest

from nanobot.providers.model_facts import profile_for


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
