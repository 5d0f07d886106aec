"""How long a model thinks: one word of the configuration, in the words of each API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nanobot.plugins.anthropic import thinking as anthropic
from nanobot.plugins.anthropic.provider import AnthropicProvider
from nanobot.plugins.anthropic.request import encode_message
from nanobot.plugins.gemini import thinking as gemini
from nanobot.plugins.gemini.provider import GeminiProvider
from nanobot.plugins.litellm.provider import LiteLLMProvider
from nanobot.plugins.models.table import ModelTable, bundled_table
from nanobot.providers.base import ChatMessage, Effort, ModelRequest, ToolCall
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.openai_request import Quirks, effort_fields, encode_request
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
    assert anthropic.thinking_of(effort, model, 4096) == fields


def test_claude_gets_no_budget_where_the_answer_has_no_room_for_it() -> None:
    assert anthropic.thinking_of("high", "claude-haiku-4-5", 1024) == {}


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
    assert gemini.thinking_of(effort, model) == fields


def test_openrouter_has_a_form_of_its_own() -> None:
    assert effort_fields("low") == {"reasoning_effort": "low"}
    assert effort_fields("low", openrouter=True) == {"reasoning": {"effort": "low"}}
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


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:Accessing the")  # pydantic, within litellm
async def test_litellm_is_told_the_effort_too() -> None:
    async with OpenAIServer() as server:
        provider = LiteLLMProvider(
            name="openai", api_key=KEY, api_base=server.base_url, clock=ManualClock()
        )
        assert (await provider.chat(ask("o3-mini", "low"))).text == "ok"
        await provider.close()
        assert server.requests[0]["reasoning_effort"] == "low"


async def looked_up(provider: str, model: str) -> ModelTable:
    table = ModelTable()
    await table.look_up(provider, model)
    return table


async def test_a_claude_that_always_thinks_is_told_to_think_little() -> None:
    model = "claude-sonnet-5-5"
    profiles = (await looked_up("anthropic", model)).profile
    async with AnthropicServer() as server:
        provider = AnthropicProvider(
            "anthropic", server.root, KEY, clock=ManualClock(), profiles=profiles
        )
        await provider.chat(ask(model, "none"))
        await provider.close()
        (body,) = server.requests
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": "low"}


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("gemini-3.8-flash", {"thinkingLevel": "low"}),
        ("gemini-3.5-flash", {"thinkingLevel": "minimal"}),
        ("gemini-3.1-pro-preview", {"thinkingLevel": "low"}),
        ("gemini-2.5-pro", {"thinkingBudget": 128}),
        ("gemini-2.5-flash", {"thinkingBudget": 0}),
    ],
)
async def test_a_gemini_is_told_to_think_as_little_as_it_can(
    model: str, config: dict[str, Any]
) -> None:
    profiles = (await looked_up("gemini", model)).profile
    async with GeminiServer() as server:
        provider = GeminiProvider(
            "gemini", f"{server.root}/v1beta", KEY, clock=ManualClock(), profiles=profiles
        )
        await provider.chat(ask(model, "none"))
        await provider.close()
        assert server.requests[0]["generationConfig"]["thinkingConfig"] == config


@pytest.mark.parametrize(("model", "sent"), [("o3", "low"), ("gpt-6-luna", "none")])
@pytest.mark.filterwarnings("ignore:Accessing the")  # pydantic, within litellm
@pytest.mark.parametrize(
    "client",
    [OpenAICompatProvider, pytest.param(LiteLLMProvider, marks=pytest.mark.process)],
)
async def test_openai_is_told_none_where_the_model_takes_it(
    model: str, sent: str, client: type[Any]
) -> None:
    profiles = (await looked_up("openai", model)).profile
    async with OpenAIServer() as server:
        more = {"api_base": server.base_url, "api_key": KEY, "profiles": profiles}
        provider = client(name="openai", clock=ManualClock(), **more)
        await provider.chat(ask(model, "none"))
        await provider.close()
        assert server.requests[0]["reasoning_effort"] == sent


async def test_no_claude_of_the_table_is_told_what_it_refuses() -> None:
    path = bundled_table()
    assert path is not None
    rows = json.loads(path.read_text("utf-8"))
    always = [
        name
        for name, row in rows.items()
        if row.get("litellm_provider") == "anthropic" and row.get("thinking_always_on")
    ]
    assert always
    for model in always:
        profile = (await looked_up("anthropic", model)).profile("anthropic", model)
        told = profile.within("none")
        assert anthropic.thinking_of(told, model, 4096)["thinking"]["type"] != "disabled", model
