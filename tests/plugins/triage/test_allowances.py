"""Budgets and the calls beside an answer: each is refused at a limit, and what comes of that."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot.agent.settings import RunSettings
from nanobot.errors import ModelUnreachable
from nanobot.plugins.budgets.settings import UNLIMITED
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.memory.remember import Remembering
from nanobot.plugins.memory.store.remembering import SqlRemembering
from nanobot.providers.base import Completion, ModelProfile, Price, Retrying, Usage
from nanobot.session.entries import (
    AuxiliaryFailedEntry,
    ModelCallEntry,
    RememberEntry,
    SummaryEntry,
    TriageEntry,
)
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import Held, ScriptedProvider
from tests.agent.tooling import bodies
from tests.plugins.budgets.ledgers import COUNTED, ledger
from tests.plugins.memory.doubles import FakeMemory
from tests.plugins.memory.test_remember import is_summing, summings
from tests.plugins.summaries.test_compaction import is_summing as is_compacting
from tests.plugins.triage.doubles import FakeStarter, triage
from tests.plugins.triage.test_triage import is_triage
from tests.stored import runs_of

ROW = "SELECT state, requests, tokens_in, tokens_out FROM model_call_costs ORDER BY id"
TOOK = Usage(7, 5)
REPLY = '{"decision": "reply", "reply": {"content": "Hello."}, "confidence": 1, "reason": "so"}'


def limited(options: Options = Options(), **limits: Any) -> Options:  # noqa: B008 - frozen
    settings = msgspec.structs.replace(UNLIMITED, zone="UTC", soft=1.0, **limits)
    return msgspec.structs.replace(options, ledger=ledger(settings))


def deciding(**settings: Any) -> Options:
    return Options(stages=triage(FakeStarter(), None, **settings), ledger=COUNTED)


def rows(bot: FakeGateway) -> list[tuple[Any, ...]]:
    """Every call, as the ledger has it."""
    return bot.home.do(lambda c: [tuple(row) for row in c.exec_driver_sql(ROW)])


async def say(bot: FakeGateway, text: str = "Hi") -> str:
    await bot.channel.push(text)
    answer = (await bot.channel.pop()).text
    await bot.settle()
    return answer


def model(decision: Any = REPLY) -> ScriptedProvider:
    return ScriptedProvider(
        otherwise=lambda request: decision if is_triage(request) else "acted",
    )


async def test_triage_is_counted_by_what_it_took_and_is_part_of_the_run() -> None:
    provider = model(Completion(text=REPLY, usage=TOOK))
    async with gateway(provider, options=deciding()) as bot:
        assert await say(bot) == "Hello."
        assert rows(bot) == [("settled", 1, 7, 5)]
        (run, *_) = await runs_of(bot.records).listed(session="", state="", limit=1)
        assert run.usage is not None
        assert (run.usage.prompt_tokens, run.usage.completion_tokens) == (7, 5)


async def test_triage_that_a_budget_refuses_leaves_it_to_the_run_which_says_why() -> None:
    provider = model()
    async with gateway(provider, options=limited(deciding(), requests_per_day=1)) as bot:
        assert await say(bot) == "Hello."
        assert "1 model request a day is used up" in await say(bot)
        assert len(provider.requests) == 1
        entry = bodies(bot, TriageEntry)[-1]
        assert (entry.decision, entry.reason, entry.usage) == ("act", "", None)
        assert any("a day is used up" in note.text for note in bodies(bot, AuxiliaryFailedEntry))


async def test_a_refused_triage_is_no_reason_for_an_apology() -> None:
    options = limited(deciding(fallback_mode="reply-only"), requests_per_day=1)
    async with gateway(model(), options=options) as bot:
        await say(bot)
        assert not (await say(bot)).startswith("Sorry")


async def test_a_triage_that_fails_costs_its_requests_and_one_that_is_late_its_prompt() -> None:
    async with gateway(model(ModelUnreachable("no")), options=deciding()) as bot:
        assert await say(bot) == "acted"
        assert rows(bot)[0] == ("failed", 1, 0, 0)
    late = Held("so far")
    scripted = ScriptedProvider(late, "acted")
    async with gateway(scripted, options=deciding(timeout_seconds=0.5)) as bot:
        assert await say(bot) == "acted"
        state, requests, tokens_in, tokens_out = rows(bot)[0]
        assert (state, requests, tokens_out) == ("settled", 1, 2)
        assert tokens_in > 100


class Stubborn(ScriptedProvider):
    """A model that has to be asked three times."""

    async def chat_stream(self, request: Any) -> Any:
        yield Retrying(0.0, "503")
        yield Retrying(0.0, "503")
        async for delta in super().chat_stream(request):
            yield delta


async def test_a_repeated_call_beside_the_answer_counts_each_time() -> None:
    async with gateway(Stubborn(REPLY), options=deciding()) as bot:
        await say(bot)
        assert sum(requests for _, requests, _, _ in rows(bot)) == 3


async def test_a_run_stopped_in_its_triage_used_the_prompt(held: Held) -> None:
    async with gateway(ScriptedProvider(held), options=deciding()) as bot:
        await bot.channel.push("Hi")
        await held.reached.wait()
        assert await say(bot, "/stop") == "Stopped."
        (state, requests, tokens_in, tokens_out), *_ = rows(bot)
        assert (state, requests, tokens_out) == ("estimated", 1, 0)
        assert tokens_in > 100


SHORT = Options(settings=RunSettings(max_history=4), ledger=COUNTED)


async def test_a_window_is_cut_without_a_summary_where_a_budget_refuses_it() -> None:
    price = Price(prompt=0.0, completion=1.0, cached=0.0)
    profile = ModelProfile(name="scripted", provider="test", price=price)
    provider = ScriptedProvider(
        otherwise=lambda _: Completion(text="ok", usage=TOOK), model=profile
    )
    settings = RunSettings(max_history=4, max_tokens=64)
    kept = ledger(msgspec.structs.replace(UNLIMITED, zone="UTC", soft=1.0, requests_per_day=4))
    options = Options(settings=settings, ledger=kept)
    async with gateway(provider, options=options) as bot:
        for text in ("one", "two", "three"):
            await say(bot, text)
        # One call is left: the summary takes it, so the answer is refused, and says so.
        assert "4 model requests a day is used up" in await say(bot, "four")
        assert len(bodies(bot, SummaryEntry)) == 1
        # Nothing is left: neither is made.
        assert "is used up" in await say(bot, "five")
        assert len([request for request in provider.requests if is_compacting(request)]) == 1
        assert len(bodies(bot, ModelCallEntry)) == 3
        assert all(state == "settled" for state, *_ in rows(bot))


async def test_compact_says_which_budget_does_not_allow_it() -> None:
    provider = ScriptedProvider()
    async with gateway(provider, options=limited(requests_per_day=1)) as bot:
        await say(bot, "one")
        assert (await say(bot, "/compact")).startswith("I cannot answer now: the budget of 1 model")
        assert len(provider.requests) == 1


async def test_a_summary_of_nothing_is_noted_and_counted() -> None:
    def answer(request: Any) -> Completion:
        return Completion(text="" if is_compacting(request) else "ok", usage=TOOK)

    async with gateway(ScriptedProvider(otherwise=answer), options=SHORT) as bot:
        for text in ("one", "two", "three", "four"):
            await say(bot, text)
        (note,) = bodies(bot, AuxiliaryFailedEntry)
        assert note.usage == TOOK
        (run, *_) = await runs_of(bot.records).listed(session="", state="", limit=1)
        assert run.usage is not None
        assert run.usage.prompt_tokens == 14
        assert len(rows(bot)) == 5


def remembering(bot: FakeGateway, memory: FakeMemory) -> Remembering:
    records = SqlRemembering(bot.process, bot.process.writer)
    return Remembering(records, memory, AuxiliaryModels(bot.provider), bot.home.clock)


def later(bot: FakeGateway, seconds: float = 61.0) -> None:
    assert isinstance(bot.home.clock, ManualClock)
    bot.home.clock.advance(seconds)


async def test_what_a_budget_does_not_let_be_remembered_waits_for_the_next_day() -> None:
    provider = ScriptedProvider(
        otherwise=lambda request: Completion(
            text="Ada likes tea." if is_summing(request) else "ok", usage=TOOK
        )
    )
    memory = FakeMemory()
    async with gateway(provider, options=limited(requests_per_day=1)) as bot:
        service = remembering(bot, memory)
        await say(bot, "I like tea")
        for _ in range(4):
            later(bot, 1_200)
            await service.look()
        assert not summings(provider)
        assert not memory.texts
        later(bot, 86_400)
        await service.look()
        assert len(summings(provider)) == 1
        assert len(bodies(bot, RememberEntry)) == 1
        assert rows(bot) == [("settled", 1, 7, 5)] * 2


async def test_a_failed_remembering_leaves_nothing_reserved() -> None:
    provider = ScriptedProvider(
        otherwise=lambda request: ModelUnreachable("no") if is_summing(request) else "ok"
    )
    async with gateway(provider, options=Options(ledger=COUNTED)) as bot:
        await say(bot)
        later(bot)
        await remembering(bot, FakeMemory()).look()
        assert [state for state, *_ in rows(bot)] == ["estimated", "failed"]
