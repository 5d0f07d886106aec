"""Each request of a model call is accounted for before it is made, at the wire as well."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from nanobot.agent.settings import RunSettings
from nanobot.plugins.budgets.settings import UNLIMITED
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.providers.base import Completion, Delta, ModelProfile, ModelRequest, Usage
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.retrying import CallPolicy
from nanobot.retries import Backoff
from nanobot.session.runs import PromptSnapshot
from nanobot.system import SystemClock
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import ScriptedProvider
from tests.agent.tooling import Recorder
from tests.doubles.openai_server import OpenAIServer, error_status
from tests.plugins.budgets.ledgers import ledger, spending

AT_ONCE = CallPolicy(backoff=Backoff(0.0, 16.0))


class Wire(ScriptedProvider):
    """Every label is a model of one server, asked over HTTP."""

    def __init__(self, server: OpenAIServer) -> None:
        super().__init__()
        url, clock = server.base_url, SystemClock()
        self._provider = OpenAICompatProvider("p", url, "key", clock=clock, policy=AT_ONCE)

    async def pick(self, label: str | None = None) -> tuple[ScriptedProvider, ModelProfile]:
        return self, ModelProfile(name=label or "m", provider="p")

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        async for delta in self._provider.chat_stream(request):
            yield delta

    async def close(self) -> None:
        await self._provider.close()


def options(settings: RunSettings | None = None, **limits: Any) -> Options:
    kept = ledger(msgspec.structs.replace(UNLIMITED, zone="UTC", **limits))
    return Options(settings=settings or RunSettings(), ledger=kept)


async def ask(bot: FakeGateway, text: str = "hello") -> str:
    await bot.channel.push(text)
    return (await bot.channel.pop()).text


@pytest.mark.parametrize("others", [(), ("m2",), ("m2", "m3", "m4")])
async def test_an_endpoint_that_is_down_gets_no_more_requests_than_a_day_may_have(
    others: tuple[str, ...],
) -> None:
    settings = RunSettings(fallback_models=others)
    async with OpenAIServer() as server:
        server.fail_with(*[error_status(500, "boom")] * 100)
        wire = Wire(server)
        async with gateway(wire, options=options(settings, requests_per_day=8)) as bot:
            answers = [await ask(bot) for _ in range(3)]
            assert len(server.requests) == 8
            (row,) = await spending(bot).rows("day", "", {})
            assert row.requests == 8
        await wire.close()
    assert "the budget of 8 model requests a day is used up" in answers[-1]


async def test_a_call_that_succeeds_at_its_third_request_took_three() -> None:
    async with OpenAIServer() as server:
        server.fail_with(*[error_status(500, "boom")] * 2)
        wire = Wire(server)
        async with gateway(wire, options=options(requests_per_day=8)) as bot:
            await ask(bot)
            (row,) = await spending(bot).rows("day", "", {})
            assert row.requests == len(server.requests) == 3
        await wire.close()


@pytest.mark.parametrize("tokens", [-(10**6), -(10**30)])
async def test_a_negative_report_of_usage_opens_no_budget(tokens: int) -> None:
    reported = Completion(text="yes", usage=Usage(tokens, tokens, tokens))
    provider = ScriptedProvider(otherwise=lambda _: reported)
    async with gateway(provider, options=options(requests_per_day=2, tokens_per_day=9_000)) as bot:
        answers = [await ask(bot) for _ in range(3)]
        assert "is used up" in answers[-1]
        assert len(provider.requests) == 2
        (row,) = await spending(bot).rows("day", "", {})
        assert row.requests == 2
        assert (row.tokens_in > 1_000, row.tokens_out) == (True, 2)  # its words are estimated


@pytest.mark.process
async def test_prompts_of_runs_that_are_over_are_not_kept_in_memory() -> None:
    tools = [Recorder().tool("look")]
    async with gateway(tools=tools) as bot:
        for number in range(80):
            message = {"role": "user", "content": "hello"}
            request = RunInput(messages=[message], runtime_hints={"kept prompts": str(number)})
            async for _ in bot.run_service.stream(request):
                pass
        gc.collect()
        prompts = (item for item in gc.get_objects() if isinstance(item, PromptSnapshot))
        assert 0 < sum("kept prompts: " in prompt.system for prompt in prompts) <= 70
