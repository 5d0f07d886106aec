"""Background runs spend what the answer may spend that began them, however many there are."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from nanobot.plugins.budgets.settings import UNLIMITED, AllowanceSettings
from nanobot.providers.base import Completion, ModelProfile, ModelRequest, Price, Usage
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.plugins.budgets.ledgers import ledger, spending
from tests.plugins.tasks.working import SPAWNING, delegating

PRICE = Price(prompt=0.0, completion=1.0, cached=0.0)


def limited(max_run_cost: float = 0.0, **limits: Any) -> Options:
    settings = msgspec.structs.replace(UNLIMITED, zone="UTC", soft=1.0, **limits)
    return msgspec.structs.replace(SPAWNING, ledger=ledger(settings, max_run_cost=max_run_cost))


def storm() -> ScriptedProvider:
    """A model that has something done in the background whatever it is asked."""
    numbers = itertools.count()

    def answer(request: ModelRequest) -> Completion:
        call = asks_for("spawn", task=f"task {next(numbers)}", label="More")
        return msgspec.structs.replace(call, usage=Usage(1, request.max_tokens))

    profile = ModelProfile(name="scripted", provider="test", price=PRICE)
    return ScriptedProvider(otherwise=answer, model=profile)


async def ended(bot: FakeGateway) -> None:
    """Everything that was begun has come to its end."""
    for _ in range(20):
        await bot.settle()
    assert not bot.engine.running()


@pytest.mark.parametrize(
    "limits",
    [
        {"person": AllowanceSettings(requests_per_day=7)},
        {"chat": AllowanceSettings(requests_per_day=7)},
        {"people": {"fake:1001": AllowanceSettings(requests_per_day=7)}},
    ],
)
async def test_a_storm_of_subagents_passes_no_limit_of_a_day(limits: dict[str, Any]) -> None:
    provider = storm()
    async with gateway(provider, options=limited(**limits)) as bot:
        await bot.channel.push("go")
        await ended(bot)
        assert len(provider.requests) == 7
        (row,) = await spending(bot).rows("person", "2027-01-15", {})
        assert (row.name, row.requests) == ("fake:1001", 7)


async def test_a_storm_of_subagents_passes_not_the_cost_of_one_answer() -> None:
    provider = storm()
    async with gateway(provider, options=limited(max_run_cost=20_000.0)) as bot:
        await bot.channel.push("go")
        await ended(bot)
        (row,) = await spending(bot).rows("day", "2027-01-15", {})
        assert 10_000 < row.cost <= 20_000
        assert len(provider.requests) > 2
        await bot.channel.push("something else")
        await ended(bot)
        (row,) = await spending(bot).rows("day", "2027-01-15", {})
        assert row.cost > 20_000  # that was another answer


async def test_a_report_that_meets_a_limit_is_told_as_it_came() -> None:
    model = ScriptedProvider(otherwise=delegating())
    async with gateway(model, options=limited(requests_per_day=3)) as bot:
        await bot.channel.push("how far is the moon?")
        assert (await bot.channel.pop()).text.startswith("I am on it.")
        text = (await bot.channel.pop()).text
        assert "Task completed: The moon\n\nthe moon is 384,400 km away" in text
        assert "(I stopped here: the budget of 3 model requests a day is used up" in text
        assert len(model.requests) == 3
