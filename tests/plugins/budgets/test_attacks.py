"""Whatever servers report, however calls end and in whatever order: never more is begun than a
limit has room for, and what was sent counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from random import Random
from typing import Any

import msgspec
import pytest

from nanobot.agent.settings import RunSettings
from nanobot.errors import ModelUnreachable, OverBudget
from nanobot.plugins.budgets.limits import Account, Budgets
from nanobot.plugins.budgets.reservations import CallEstimate
from nanobot.plugins.budgets.settings import UNLIMITED, AllowanceSettings, BudgetSettings
from nanobot.plugins.common.models.auxiliary import ask as ask_beside
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    Delta,
    ModelProfile,
    ModelRequest,
    Price,
    Retrying,
    TextDelta,
    Usage,
)
from nanobot.session.auxiliary import AuxiliaryCall, NoReservation, Reservation
from nanobot.session.entries import FallbackEntry
from nanobot.session.runs import Claim
from nanobot.store.journal.journal import SqlJournal
from nanobot.testing import gateway
from nanobot.testing.model import ScriptedProvider
from tests.doubles.openai_server import Answer, Fault, OpenAIServer, events, sse
from tests.plugins.budgets.ledgers import spending
from tests.plugins.budgets.test_attempts import Wire, ask, options
from tests.plugins.budgets.test_spending import (
    answer,
    beside,
    limits,
    priced,
    replied,
    start,
)
from tests.store.home import Home
from tests.store.making import begun, claim

TEXT = "word " * 1_200
TOKENS = len(TEXT) // 3
REPORTS: dict[str, Any] = {
    "none": None,
    "an empty one": {},
    "zeros": {"prompt_tokens": 0, "completion_tokens": 0},
    "negative": {"prompt_tokens": -5, "completion_tokens": -(10**30)},
    "only the prompt": {"prompt_tokens": 700},
    "only the answer": {"completion_tokens": TOKENS},
    "no numbers": {"prompt_tokens": "many", "completion_tokens": [7]},
    "not a number": {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
    "nothing but what was cached": {"prompt_tokens_details": {"cached_tokens": 10**9}},
    "all of it cached": {
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 10**9},
    },
    "huge": {"prompt_tokens": 10**30, "completion_tokens": 10**300},
    "no object": "12",
}


@pytest.mark.parametrize("report", REPORTS)
async def test_an_answer_counts_whatever_its_server_reports(report: str) -> None:
    async with OpenAIServer() as server:
        stream = events(Answer(TEXT), {"prompt_tokens": 1})
        stream[-1]["usage"] = REPORTS[report]
        server.fail_with(Fault(raw=sse(stream)))
        wire = Wire(server)
        async with gateway(wire, options=options()) as bot:
            await ask(bot)
            await bot.settle()
            (row,) = await spending(bot).rows("day", "", {})
        await wire.close()
    assert 500 < row.tokens_in < 10_000, row
    assert TOKENS <= row.tokens_out < TOKENS + 20_000, row


async def test_an_answer_longer_than_its_limit_counts_as_long_as_it_is() -> None:
    """A server can ignore `max_tokens`."""
    long = "word " * 30_000
    async with OpenAIServer() as server:
        usage = {"prompt_tokens": 700, "completion_tokens": 30_000}
        server.fail_with(Fault(raw=sse(events(Answer(long), usage))))
        wire = Wire(server)
        async with gateway(wire, options=options(tokens_per_day=4_000)) as bot:
            await ask(bot)
            await bot.settle()
            (row,) = await spending(bot).rows("day", "", {})
        await wire.close()
    assert (row.tokens_in, row.tokens_out) == (700, 30_000)


class Breaking(ScriptedProvider):
    """Each model has begun its answer twice when it fails."""

    async def pick(self, label: str | None = None) -> tuple[ScriptedProvider, ModelProfile]:
        return self, ModelProfile(name=label or "m", provider="p")

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        yield TextDelta(TEXT)
        yield Retrying(why="it broke off", delay=0.0)
        yield TextDelta(TEXT)
        raise ModelUnreachable("it broke off again")


@pytest.mark.parametrize("others", [(), ("m2",), ("m2", "m3", "m4")])
async def test_each_answer_that_breaks_off_counts_as_far_as_it_came(
    others: tuple[str, ...],
) -> None:
    async with gateway(Breaking(), options=options(RunSettings(fallback_models=others))) as bot:
        await ask(bot)
        await bot.settle()
        (row,) = await spending(bot).rows("day", "", {})
    made = 2 * (len(others) + 1)
    assert (row.requests, row.tokens_out) == (made, made * TOKENS)
    assert row.tokens_in >= made * 500


class Noted:
    """An account that notes what a call beside a run is said to have used."""

    def __init__(self) -> None:
        self.used: list[Usage] = []

    async def start_auxiliary(self, call: AuxiliaryCall) -> Reservation:
        noted = self.used

        class Noting(NoReservation, frozen=True):
            def settled(self, usage: Usage) -> NoReservation:
                noted.append(usage)
                return self

        return Noting(call.max_tokens)

    async def start_retry(self, discarded: Usage) -> None:
        self.used.append(discarded)


@pytest.mark.parametrize("usage", [None, Usage(), Usage(-1, -1), Usage(0, 7), Usage(7, 0), "cut"])
async def test_a_call_beside_a_run_counts_whatever_is_reported(usage: Any) -> None:
    class Model(ScriptedProvider):
        async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            yield TextDelta(TEXT)
            if usage == "cut":
                raise ModelUnreachable("it is gone")
            yield Completion(text=TEXT, usage=usage)

    account, profile = Noted(), ModelProfile(name="m", provider="p")
    message = ChatMessage(role="user", content="Sum it up: " + "x" * 3_000)
    request = ModelRequest(model="m", messages=(message,), max_tokens=100)
    await ask_beside(account, (Model(), profile), request)
    (used,) = account.used
    reported = usage if isinstance(usage, Usage) else Usage()
    assert used.prompt_tokens == (
        reported.prompt_tokens if reported.prompt_tokens > 0 else used.prompt_tokens
    )
    assert used.prompt_tokens > 0
    assert used.completion_tokens >= (7 if reported.completion_tokens == 7 else TOKENS)


def test_a_prompt_from_an_expensive_cache_is_reserved_at_its_price() -> None:
    price = Price(prompt=1.0, completion=1.0, cached=9.0, cache_write=3.0)
    estimate = CallEstimate(tokens_in=10, tokens_out=0, price=price)
    assert estimate.cost == price.of(Usage(10, 0, 10))


def test_limits_that_are_asked_for_while_they_change_are_not_kept() -> None:
    """The store asks in another thread."""
    who = Account(person="telegram:1", chat="telegram:1", job="", model="p/m")
    budgets = Budgets(UNLIMITED)

    class Asking(dict[str, AllowanceSettings]):
        def values(self) -> Any:
            budgets.limits(who)
            return super().values()

    named = Asking({"telegram:2": AllowanceSettings()})
    settings = BudgetSettings(tokens_per_day=0, cost_per_day=1.0, people=named)
    budgets.configure(settings)
    assert [limit.amount for limit in budgets.limits(who)] == [1.0]


async def test_calls_beside_a_run_that_are_made_at_once_fit_together(home: Home) -> None:
    journal = home.journal(budgets=limits(cost_per_day=430.0))
    claimed = await begun(journal)
    first = await journal.start_auxiliary(claimed.lane, claimed.run, beside())
    second = await journal.start_auxiliary(claimed.lane, claimed.run, beside())
    with pytest.raises(OverBudget):
        await journal.start_auxiliary(claimed.lane, claimed.run, beside())
    for reserved in (first, second):
        await home.do(reserved.settled(Usage(7, 5, 2)).write)
    assert await home.column("SELECT sum(cost) FROM model_call_costs") == [32.0]


LIMITS: tuple[Mapping[str, Any], ...] = (
    {"cost_per_day": 2_000.0},
    {"tokens_per_day": 900},
    {"requests_per_day": 12},
    {"person": AllowanceSettings(cost_per_day=2_000.0)},
    {"chat": AllowanceSettings(requests_per_day=12)},
)
_MEASURES = {
    "cost_per_day": "sum(cost)",
    "tokens_per_day": "sum(tokens_in + tokens_out)",
    "requests_per_day": "sum(requests)",
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("setting", LIMITS, ids=lambda setting: next(iter(setting)))
async def test_no_order_of_events_begins_more_than_a_limit_has_room_for(
    home: Home, setting: Mapping[str, Any], seed: int
) -> None:
    """Calls, retries, calls beside them, absurd reports, crashes, other processes, jumps of the
    clock over the border of a day and changes of the limit, in any order."""
    life = Life(home, setting, Random(f"{seed} {setting}"))
    for _ in range(60):
        await life.step()
    assert life.accepted > 10
    await life.agree()


class Life:
    """Runs of one person in one chat, in several sessions, with everything that can happen."""

    def __init__(self, home: Home, setting: Mapping[str, Any], rng: Random) -> None:
        self.home, self.rng, self.setting = home, rng, dict(setting)
        self.budgets = limits(**setting)
        self.accepted = 0
        self._number = 0
        self._runs: dict[str, tuple[SqlJournal, Claim, str]] = {}
        self._beside: list[Reservation] = []

    async def step(self) -> None:
        weighted = {self.call: 6, self.beside: 3, self.retry: 3, self.ends: 5, self.crash: 1}
        weighted |= {self.clock: 1, self.change: 1, self.fails: 2, self.settle: 2}
        (what,) = self.rng.choices([*weighted], [*weighted.values()])
        key = f"telegram:{self.rng.randrange(3)}"
        if key not in self._runs:
            self._number += 1
            journal = self.home.doomed(budgets=self.budgets)
            claimed = await begun(journal, f"run{self._number}", key)
            self._runs[key] = journal, claimed, ""
        try:
            day = await what(key)
        except OverBudget:
            return
        if day:
            self.accepted += 1
            await self.fits(day)

    @property
    def today(self) -> str:
        return self.budgets.period(self.home.clock.now()).day

    # Each gives the day on which it counts, if it makes a request.

    async def call(self, key: str) -> str:
        journal, claimed, _ = self._runs[key]
        self._number += 1
        most = self.rng.choice((1, 64, 100, 400))
        await start(journal, claimed, priced(self._number, most=most))
        self._runs[key] = journal, claimed, self.today
        return self.today

    async def beside(self, key: str) -> str:
        journal, claimed, _ = self._runs[key]
        call = beside()
        self._beside.append(await journal.start_auxiliary(claimed.lane, claimed.run, call))
        return self.today

    async def retry(self, key: str) -> str:
        journal, claimed, day = self._runs[key]
        if day:
            await journal.start_retry(claimed.lane, claimed.run, self.usage())
        return day

    async def ends(self, key: str) -> None:
        journal, claimed, asked = self._runs.pop(key)
        reply = msgspec.structs.replace(answer(self._number), usage=self.usage())
        await journal.finish(
            claimed.lane, claimed.run, replied(claimed, *([reply] if asked else []))
        )

    async def fails(self, key: str) -> None:
        journal, claimed, asked = self._runs[key]
        if asked:
            note = FallbackEntry(text="gone", usage=self.rng.choice((None, Usage(10, 300))))
            await journal.record_result(claimed.lane, claimed.run, [note], [])
            self._runs[key] = journal, claimed, ""

    async def settle(self, key: str) -> None:
        if self._beside:
            await self.home.do(self._beside.pop().settled(self.usage()).write)

    async def crash(self, key: str) -> None:
        """Every process ends, and others take the runs."""
        taken = self._runs
        self._runs, self._beside = {}, []
        await self.home.reopen()
        for each, (_, claimed, _) in taken.items():
            journal = self.home.doomed(budgets=self.budgets)
            self._runs[each] = journal, await claim(journal, claimed.run.id, each), ""

    async def clock(self, key: str) -> None:
        self.home.clock.advance(self.rng.choice((3_600.0, 86_400.0, 40_000.0, 10 * 86_400.0)))

    async def change(self, key: str) -> None:
        ((name, amount),) = self.setting.items()
        if isinstance(amount, AllowanceSettings):
            return
        self.setting[name] = type(amount)(amount * self.rng.choice((0.5, 1, 2)))
        settings = msgspec.structs.replace(UNLIMITED, zone="UTC", **self.setting)
        self.budgets.configure(settings)

    def usage(self) -> Usage:
        some = (0, 1, 5, 50, -7, 10**30)
        return Usage(*(self.rng.choice(some) for _ in range(4)))

    async def fits(self, day: str) -> None:
        """What was used and reserved that day is within the limit that holds now."""
        ((name, amount),) = self.setting.items()
        if isinstance(amount, AllowanceSettings):
            ((name, amount),) = {
                key: value
                for key, value in msgspec.structs.asdict(amount).items()
                if value is not None
            }.items()
        query = f"SELECT {_MEASURES[name]} FROM model_call_costs WHERE day = '{day}'"
        (used,) = await self.home.column(query)
        assert used is None or used <= amount

    async def agree(self) -> None:
        """The sums say the same as the calls."""
        ((requests, cost),) = await self.home.rows(
            "SELECT sum(requests), sum(cost) FROM model_call_costs WHERE state <> 'open'"
        )
        rows = await self.home.spending().rows("day", "", {})
        assert sum(row.requests for row in rows) == requests
        assert sum(row.cost for row in rows) == pytest.approx(cost)
