"""How long a model thinks: one word of the configuration, in the words of each API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nanobot.providers.anthropic import AnthropicProvider
from nanobot.providers.anthropic_request import encode_message
from nanobot.providers.base import ChatMessage, ModelRequest, ToolCall
from nanobot.providers.effort import Effort, for_anthropic, for_gemini, for_openai
from nanobot.providers.gemini import GeminiProvider
from nanobot.providers.litellm_provider import LiteLLMProvider
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.openai_request import Quirks, encode_request
from nanobot.testing.machine import ManualClock
from tests.doubles.anthropic_server import AnthropicServer
from tests.doubles.gemini_server import GeminiServer
from tests.doubles.openai_server import OpenAIServer, error_status
from tests.providers.asking import KEY

EFFORTS: tuple[Effort, ...] = ("default", "none", "low", "medium", "high")


def ask(model: str, effort: Effort, **more: Any) -> ModelRequest:
    messages = (ChatMessage(role="user", content="say:ok"),)
    return ModelRequest(model=model, effort=effort, **({"messages": messages} | more))


@pytest.mark.parametrize(
    ("model", "effort", "fields"),
    [
        ("claude-sonnet-5-5", "default", {}),
        ("claude-sonnet-5-5", "none", {"thinking": {"type": "disabled"}}),
        (
            "claude-opus-4-7",
            "high",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        (
            "claude-next",
            "low",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        (
            "claude-haiku-4-5-20251001",
            "medium",
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        ),
        (
            "claude-opus-4-20250514",
            "low",
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        ),
    ],
)
def test_claude_gets_a_budget_before_version_4_6_and_an_effort_from_then_on(
    model: str, effort: Effort, fields: dict[str, Any]
) -> None:
    assert for_anthropic(effort, model, 4096) == fields


def test_claude_gets_no_budget_where_the_answer_has_no_room_for_it() -> None:
    assert for_anthropic("high", "claude-haiku-4-5", 1024) == {}


def test_a_budget_is_not_set_in_the_middle_of_calls_made_without_thought() -> None:
    called = (
        ChatMessage(role="user", content="look"),
        ChatMessage(role="assistant", content="", tool_calls=(ToolCall("a", "look", "{}"),)),
        ChatMessage(role="tool", content="seen", tool_call_id="a"),
    )
    request = ask("claude-haiku-4-5", "high", messages=called, max_tokens=4096)
    assert "thinking" not in json.loads(encode_message(request, Quirks()))


@pytest.mark.parametrize(
    ("model", "effort", "fields"),
    [
        ("gemini-3.8-flash", "default", {}),
        ("gemini-3.8-flash", "none", {"thinkingConfig": {"thinkingLevel": "minimal"}}),
        ("gemini-3-pro", "high", {"thinkingConfig": {"thinkingLevel": "high"}}),
        ("gemini-2.5-flash", "none", {"thinkingConfig": {"thinkingBudget": 0}}),
        ("gemini-2.5-pro", "low", {"thinkingConfig": {"thinkingBudget": 1024}}),
        ("gemini-2.0-flash", "high", {}),
    ],
)
def test_gemini_gets_a_level_from_version_3_on_and_a_budget_before(
    model: str, effort: Effort, fields: dict[str, Any]
) -> None:
    assert for_gemini(effort, model) == fields


def test_openrouter_has_a_form_of_its_own() -> None:
    assert for_openai("low") == {"reasoning_effort": "low"}
    assert for_openai("low", openrouter=True) == {"reasoning": {"effort": "low"}}
    router = OpenAICompatProvider("openrouter", "https://openrouter.ai/api/v1", clock=ManualClock())
    sent = json.loads(encode_request(ask("m", "high"), router._quirks_of("m")))
    assert sent["reasoning"] == {"effort": "high"}


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-6", "claude-sonnet-5-5"])
async def test_claude_takes_every_effort(model: str, effort: Effort) -> None:
    async with AnthropicServer() as server:
        provider = AnthropicProvider("anthropic", server.root, KEY, clock=ManualClock())
        assert (await provider.chat(ask(model, effort))).text == "ok"
        await provider.close()
        assert len(server.requests) == 1
        assert ("thinking" in server.requests[0]) == (effort != "default")


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3.8-flash"])
async def test_gemini_takes_every_effort(model: str, effort: Effort) -> None:
    async with GeminiServer() as server:
        provider = GeminiProvider("gemini", f"{server.root}/v1beta", KEY, clock=ManualClock())
        assert (await provider.chat(ask(model, effort))).text == "ok"
        await provider.close()
        generation = server.requests[0]["generationConfig"]
        assert ("thinkingConfig" in generation) == (effort != "default")


async def test_an_endpoint_that_knows_no_effort_is_asked_without_it_from_then_on() -> None:
    async with OpenAIServer() as server:
        provider = OpenAICompatProvider("acme", server.base_url, KEY, clock=ManualClock())
        refused = "Unrecognized request argument supplied: reasoning_effort"
        server.fail_with(error_status(400, refused))
        for _ in range(2):
            assert (await provider.chat(ask("m-1", "high"))).text == "ok"
        await provider.close()
        sent = ["reasoning_effort" in body for body in server.requests]
        assert sent == [True, False, False]


@pytest.mark.filterwarnings("ignore:Accessing the")  # pydantic, within litellm
async def test_litellm_is_told_the_effort_too() -> None:
    async with OpenAIServer() as server:
        provider = LiteLLMProvider(
            name="openai", api_key=KEY, api_base=server.base_url, clock=ManualClock()
        )
        assert (await provider.chat(ask("o3-mini", "low"))).text == "ok"
        await provider.close()
        assert server.requests[0]["reasoning_effort"] == "low"
