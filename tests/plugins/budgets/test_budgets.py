"""Budgets as people meet them: a run that may not ask says why, and ends with what there is."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot.agent.settings import RunSettings
from nanobot.errors import ModelUnreachable
from nanobot.plugins.budgets.settings import UNLIMITED, AllowanceSettings
from nanobot.providers.base import Completion, ModelProfile, Price, Retrying, ToolCall, Usage
from nanobot.session.entries import ModelCallEntry
from nanobot.session.states import RunState
from nanobot.testing import gateway
from nanobot.testing.gateway import Options
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER
from tests.agent.test_fallback import Lineup, model
from tests.agent.tooling import Recorder, bodies
from tests.plugins.budgets.ledgers import COUNTED, brings, ledger, spending
from tests.stored import runs_of

RESETS = "it starts again at 2027-01-16 00:00 (UTC)"


def options(max_run_cost: float = 0.0, **limits: Any) -> Options:
    settings = msgspec.structs.replace(UNLIMITED, zone="UTC", **limits)
    kept = ledger(settings, max_run_cost=max_run_cost)
    return Options(ledger=kept, brings=brings)


async def test_a_hard_limit_refuses_before_the_call_and_says_when_it_starts_again() -> None:
    provider = ScriptedProvider("first")
    async with gateway(provider, options=options(requests_per_day=1, soft=1.0)) as bot:
        await bot.channel.push("one")
        first = (await bot.channel.pop()).text
        assert first.startswith("first\n\n(100 % of the budget of 1 model request a day is used")
        await bot.channel.push("two")
        assert (await bot.channel.pop()).text == (
            "I cannot answer now: the budget of 1 model request a day is used up "
            f"(1 model request used or reserved); {RESETS}."
        )
        assert len(provider.requests) == 1
        (last, *_) = await runs_of(bot.records).listed(session="", state="", limit=1)
        assert (last.state, last.error) == (RunState.FAILED, "limit_budget")


async def test_a_run_that_meets_a_limit_ends_with_what_there_is() -> None:
    provider = ScriptedProvider(asks_for("look", "so far"))
    tools = [Recorder().tool("look")]
    async with gateway(provider, tools=tools, options=options(requests_per_day=1)) as bot:
        await bot.channel.push("go")
        text = (await bot.channel.pop()).text
        assert text.startswith("so far\n\n(I stopped here: the budget of 1 model request a day is")
        assert text.endswith(f"{RESETS}.)")


async def test_a_limit_of_one_person_leaves_the_others_alone() -> None:
    limits = options(people={f"fake:{MEMBER}": AllowanceSettings(requests_per_day=1)}, soft=1.0)
    async with gateway(options=limits) as bot:
        await bot.channel.push("one", sender=MEMBER, chat="9")
        await bot.channel.pop()
        await bot.channel.push("two", sender=MEMBER, chat="9")
        assert "for you is used up" in (await bot.channel.pop()).text
        await bot.channel.push("three")
        assert (await bot.channel.pop()).text == "echo: three"


async def test_the_cost_of_one_answer_is_a_limit_of_its_own() -> None:
    profile = ModelProfile(name="m", provider="test", price=Price(prompt=0.001, completion=0.0))
    call = ToolCall("c", "look", "{}")
    dear = Completion(text="so far", tool_calls=(call,), usage=Usage(100_000, 10))
    provider = ScriptedProvider(dear, model=profile)
    async with gateway(provider, tools=[Recorder().tool("look")], options=options(6.0)) as bot:
        await bot.channel.push("go")
        text = (await bot.channel.pop()).text
        assert text.startswith("so far\n\n(I stopped here: the budget of $6.00 for one answer")
        (run, *_) = await runs_of(bot.records).listed(session="", state="", limit=1)
        assert run.error == "limit_cost"


async def test_a_model_at_its_limit_leaves_the_answer_to_the_next() -> None:
    dear = {"test/first": AllowanceSettings(requests_per_day=1)}
    chosen = options(model=dear, soft=1.0)
    settings = RunSettings(fallback_models=("test/second",))
    chosen = Options(ledger=chosen.ledger, settings=settings)
    lineup = Lineup(model("first", "one"), second=model("second", "two"))
    async with gateway(lineup, options=chosen) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text.startswith("one")
        await bot.channel.push("again")
        assert (await bot.channel.pop()).text == "two"


async def test_retries_and_fallbacks_count_as_the_requests_they_are() -> None:
    settings = RunSettings(fallback_models=("test/second",))
    lineup = Lineup(Stubborn("first"), second=model("second", "yes"))
    async with gateway(lineup, options=Options(settings=settings, ledger=COUNTED)) as bot:
        await bot.channel.push("hello")
        await bot.channel.pop()
        rows = await spending(bot).rows("model", "2027-01-15", {})
        assert {row.name: row.requests for row in rows} == {"test/first": 3, "test/second": 1}


class Stubborn(ScriptedProvider):
    """A model that is asked three times, and does not answer."""

    def __init__(self, name: str) -> None:
        super().__init__(model=ModelProfile(name=name, provider="test"))

    async def chat_stream(self, request: Any) -> Any:
        yield Retrying(0.0, "503")
        yield Retrying(0.0, "503")
        raise ModelUnreachable("nobody there")


async def test_a_stopped_answer_used_what_was_sent_and_said() -> None:
    held = Held("as far as")
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("go")
        await held.reached.wait()
        await bot.channel.push("/stop")
        await bot.channel.pop()
        (run, *_) = await runs_of(bot.records).listed(session="", state="", limit=1)
        assert run.state is RunState.ABORTED
        assert run.usage is not None
        assert run.usage.model_calls == 1
        assert run.usage.prompt_tokens > 10
        assert run.usage.completion_tokens == 3


async def test_usage_in_a_chat_is_one_s_own_and_what_is_left() -> None:
    limits = options(person=AllowanceSettings(requests_per_day=3), soft=1.0)
    async with gateway(options=limits) as bot:
        await bot.channel.push("one")
        await bot.channel.pop()
        await bot.channel.push("/usage", sender=MEMBER, chat="9")
        text = (await bot.channel.pop()).text
        assert text.startswith("You used since 2027-01-15:\n- nothing")
        assert "3 of 3 model requests for you" in text
        await bot.channel.push("/usage by=person")
        text = (await bot.channel.pop()).text
        assert "- fake:1001: 1 model request" in text
        assert "2 of 3 model requests for you" in text
        assert "at an unknown price" in text


async def test_an_answer_is_asked_for_no_longer_than_the_budget_allows() -> None:
    provider = ScriptedProvider()
    async with gateway(provider, options=options(tokens_per_day=3_000)) as bot:
        await bot.channel.push("hello")
        await bot.channel.pop()
        (call,) = bodies(bot, ModelCallEntry)
        assert provider.requests[0].max_tokens == call.max_tokens == 3_000 - call.estimate
