"""The ledger: what calls reserve, how that is settled, and that no limit is ever passed."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.errors import Fenced, OverBudget
from nanobot.messages import Address, Origin, OutboundKind, OutboundMessage
from nanobot.plugins.budgets.limits import Account, Budgets
from nanobot.plugins.budgets.reservations import UsageSum
from nanobot.plugins.budgets.settings import UNLIMITED, AllowanceSettings
from nanobot.providers.base import Price, ToolCall, Usage
from nanobot.session.auxiliary import AuxiliaryCall
from nanobot.session.entries import Body, FallbackEntry, ModelCallEntry, ReplyEntry, SummaryEntry
from nanobot.session.journal import Journal
from nanobot.session.runs import Claim, Ending
from nanobot.session.states import RunState
from nanobot.store.journal import runs
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.unit import Unit
from tests.store.home import Home, leases_of, on_postgres
from tests.store.making import (
    ANN,
    KEY,
    PROMPT,
    RESULT,
    admit,
    begun,
    call,
    claim,
    prompt,
    said,
    stop_order,
)
from tests.store.test_jobs import add, plan
from tests.stored import runs_of

DOLLAR_A_TOKEN = Price(prompt=1.0, completion=2.0, cached=0.5)
DAY = "2027-01-15"  # when a ManualClock begins
ROW = "SELECT state, requests, tokens_in, tokens_out, cost FROM model_call_costs ORDER BY id"


def limits(**of_all: Any) -> Budgets:
    return Budgets(msgspec.structs.replace(UNLIMITED, zone="UTC", **of_all))


def priced(number: int = 1, *, estimate: int = 10, most: int = 100) -> ModelCallEntry:
    plain = call(number)
    profile = msgspec.structs.replace(plain.profile, price=DOLLAR_A_TOKEN)
    return msgspec.structs.replace(plain, profile=profile, estimate=estimate, max_tokens=most)


def answer(number: int = 1, tokens: int = 5, **more: Any) -> ReplyEntry:
    return ReplyEntry(call=number, text="yes", usage=Usage(7, tokens, 2), **more)


def asking_for_a_tool(number: int = 1) -> ReplyEntry:
    calls = (ToolCall(id="c", name="clock", arguments="{}"),)
    return answer(number, tool_calls=calls, finish_reason="tool_calls")


async def start(journal: Journal, claimed: Claim, body: ModelCallEntry) -> ModelCallEntry:
    entries = await journal.start_model(claimed.lane, claimed.run, [prompt(), body], PROMPT)
    started = entries[-1].body
    assert isinstance(started, ModelCallEntry)
    return started


def replied(claimed: Claim, *bodies: Any, error: str | None = None) -> Ending:
    owed = OutboundMessage(
        address=claimed.run.address,
        text="yes",
        key=claimed.run.reply_key,
        kind=OutboundKind.REPLY,
    )
    state = RunState.COMPLETED if error is None else RunState.FAILED
    return Ending(state=state, bodies=bodies, outbound=(owed,), error=error)


async def test_a_call_is_reserved_before_it_is_made_and_settled_with_its_reply(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    assert await home.rows(ROW) == [("open", 1, 10, 100, 210.0)]
    assert await home.rows("SELECT * FROM usage_totals") == []
    await journal.record_reply(claimed.lane, claimed.run, asking_for_a_tool())
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0)]
    await start(journal, claimed, priced(2))
    for _ in range(3):
        await journal.start_retry(claimed.lane, claimed.run, Usage())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer(2)))
    await leases_of(journal).renew()  # over PostgreSQL it is only then in the totals
    counted = await home.rows("SELECT level, name, requests, tokens_in, cost FROM usage_totals")
    names = {"all": "", "person": f"telegram:{ANN}", "chat": "telegram:7", "model": "p/m"}
    assert sorted(counted) == sorted((level, name, 5, 14, 32.0) for level, name in names.items())


async def test_a_reply_is_settled_in_the_transaction_that_reserves_the_next_call(
    home: Home,
) -> None:
    journal = home.journal(budgets=limits(requests_per_day=2))
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    noted: list[Body] = [asking_for_a_tool(), RESULT]
    await journal.start_model(claimed.lane, claimed.run, [*noted, priced(2)], None)
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0), ("open", 1, 10, 100, 210.0)]
    before = await home.everything()
    with pytest.raises(OverBudget):
        await journal.start_model(claimed.lane, claimed.run, [*noted, priced(3)], None)
    assert await home.everything() == before


async def test_a_call_of_unknown_price_counts_tokens_only(home: Home) -> None:
    journal = home.journal(budgets=limits(cost_per_day=0.01))
    claimed = await begun(journal)
    await start(journal, claimed, call())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    (row,) = await home.spending().rows("model", DAY, {})
    assert (row.tokens_in, row.cost, row.unpriced) == (7, 0.0, 1)


async def test_a_call_that_a_crash_cut_gives_its_place_to_the_one_made_again(home: Home) -> None:
    doomed = home.doomed()
    claimed = await begun(doomed)
    await start(doomed, claimed, priced())
    await home.reopen()
    journal = home.journal()
    again = await claim(journal)
    await start(journal, again, priced(2))
    states = await home.rows(ROW)
    assert states == [("replaced", 1, 0, 0, 0.0), ("open", 1, 10, 100, 210.0)]
    (row,) = await home.spending().rows("model", DAY, {})
    assert (row.requests, row.tokens_in, row.cost) == (1, 0, 0.0)


async def test_crashes_do_not_use_up_the_budget_of_everybody(home: Home) -> None:
    """Each call that is made again takes the place of the one that a crash cut off."""
    settings = limits(cost_per_day=250.0)
    claimed = await begun(doomed := home.doomed(budgets=settings))
    await start(doomed, claimed, priced())
    for number in range(2, 5):
        await home.reopen()
        again = await claim(doomed := home.doomed(budgets=settings))
        await start(doomed, again, priced(number))
    used = await home.rows("SELECT sum(cost) FROM model_call_costs WHERE state = 'open'")
    assert used == [(210.0,)]


async def test_a_day_of_known_cost_is_not_ended_by_its_tokens(home: Home) -> None:
    both = limits(cost_per_day=1_000.0, tokens_per_day=50)
    journal = home.journal(budgets=both)
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    unpriced = await begun(journal, "again")
    with pytest.raises(OverBudget, match="50 tokens"):
        await start(journal, unpriced, call())


async def test_a_call_that_failed_costs_a_request_and_no_tokens(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    failed = FallbackEntry(text="nobody there")
    await journal.record_result(claimed.lane, claimed.run, [failed])
    assert await home.rows(ROW) == [("failed", 1, 0, 0, 0.0)]


async def test_a_further_request_is_a_request_more_with_what_the_one_before_had_said(
    home: Home, journal: SqlJournal, claimed: Claim
) -> None:
    await start(journal, claimed, priced())
    await journal.start_retry(claimed.lane, claimed.run, Usage())
    await journal.start_retry(claimed.lane, claimed.run, Usage(10, 3))
    failed = [("failed", 1, 0, 0, 0.0), ("estimated", 1, 10, 3, 16.0)]
    assert await home.rows(ROW) == [("open", 1, 10, 100, 210.0), *failed]
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0), *failed]
    (row,) = await home.spending().rows("model", DAY, {})
    assert (row.requests, row.tokens_in, row.tokens_out, row.cost) == (3, 17, 8, 32.0)


LIMITS: tuple[dict[str, Any], ...] = (
    {"requests_per_day": 1},
    {"tokens_per_day": 122},
    {"cost_per_day": 225.0},
)


@pytest.mark.parametrize("limit", LIMITS)
async def test_a_further_request_that_passes_a_limit_is_refused_and_nothing_is_kept(
    home: Home, limit: dict[str, Any]
) -> None:
    journal = home.journal(budgets=limits(**limit))
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    before = await home.everything()
    with pytest.raises(OverBudget):
        await journal.start_retry(claimed.lane, claimed.run, Usage(10, 3))
    assert await home.everything() == before


async def test_a_further_request_counts_in_what_one_answer_may_cost(home: Home) -> None:
    journal = home.journal(budgets=Budgets(UNLIMITED, max_run_cost=225.0))
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await journal.start_retry(claimed.lane, claimed.run, Usage())
    with pytest.raises(OverBudget, match="for one answer"):
        await journal.start_retry(claimed.lane, claimed.run, Usage(10, 3))


async def test_a_further_request_of_a_call_that_was_taken_for_lost_counts_too(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await journal.finish(claimed.lane, claimed.run, replied(claimed))
    again = await begun(journal, "again")
    await journal.start_auxiliary(again.lane, claimed.run, beside(apart=True))
    await start(journal, again, priced())
    await journal.start_retry(again.lane, claimed.run, Usage())
    assert [state for state, *_ in await home.rows(ROW)] == ["lost", "open", "failed"]
    (row,) = await home.spending().rows("model", DAY, {})
    assert row.requests == 2


ODD = (Usage(-100, -100, -100), Usage(10**30, 10**400, 10**30), Usage(5, 5, 10**30))


@pytest.mark.parametrize("usage", ODD)
async def test_whatever_a_provider_reports_a_call_takes_no_less_than_nothing(
    home: Home, usage: Usage, journal: SqlJournal, claimed: Claim
) -> None:
    await start(journal, claimed, priced())
    reply = ReplyEntry(call=1, text="yes", usage=usage)
    await journal.finish(claimed.lane, claimed.run, replied(claimed, reply))
    reserved = await journal.start_auxiliary(
        (again := await begun(journal, "again")).lane, again.run, beside()
    )
    await home.do(reserved.settled(usage).write)
    (row,) = await home.spending().rows("model", DAY, {})
    for amount in (row.tokens_in, row.tokens_out):
        assert 0 <= amount <= 20_000
    assert row.cost >= 0


async def test_a_run_that_is_stopped_in_a_call_used_its_prompt_and_what_was_said(
    home: Home, journal: SqlJournal, claimed: Claim
) -> None:
    await start(journal, claimed, priced())
    partial = ReplyEntry(call=1, text="as far as", partial=True)
    await admit(journal, stop_order(bodies=(partial,)))
    assert await home.rows(ROW) == [("estimated", 1, 10, 3, 16.0)]
    run = await runs_of(home.records()).run("run")
    assert run is not None
    assert run.usage is not None
    assert (run.usage.prompt_tokens, run.usage.completion_tokens) == (10, 3)


async def test_a_run_that_is_stopped_before_the_model_spoke_used_its_prompt(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await admit(journal, stop_order())
    assert await home.rows(ROW) == [("estimated", 1, 10, 0, 10.0)]
    run = await runs_of(home.records()).run("run")
    assert run is not None
    assert run.usage is not None
    assert run.usage.prompt_tokens == 10


async def test_whoever_lost_the_lane_reserves_nothing(home: Home) -> None:
    doomed = home.doomed()
    claimed = await begun(doomed)
    await claim(home.journal())
    with pytest.raises(Fenced):
        await start(doomed, claimed, priced())
    assert await home.rows(ROW) == []


async def test_a_call_is_refused_at_a_hard_limit_and_nothing_of_it_is_kept(home: Home) -> None:
    journal = home.journal(budgets=limits(requests_per_day=1))
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    again = await begun(journal, "next")
    before = await home.everything()
    with pytest.raises(OverBudget, match=r"1 model request a day is used up \(1 model request"):
        await start(journal, again, priced())
    assert await home.everything() == before


async def test_the_next_day_is_another(home: Home) -> None:
    journal = home.journal(budgets=limits(requests_per_day=1))
    for number in range(3):
        claimed = await begun(journal, f"run{number}")
        await start(journal, claimed, priced())
        await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
        home.clock.advance(86_400)
    assert len(await home.spending().rows("day", DAY, {})) == 3


async def test_an_answer_may_be_no_longer_than_what_is_left(home: Home) -> None:
    journal = home.journal(budgets=limits(tokens_per_day=90))
    claimed = await begun(journal)
    started = await start(journal, claimed, priced())
    assert started.max_tokens == 80
    assert await home.rows(ROW) == [("open", 1, 10, 80, 170.0)]


@pytest.mark.parametrize(
    "setting",
    [{"tokens_per_day": 1_000}, {"cost_per_day": 2_000.0}, {"requests_per_day": 9}],
)
async def test_together_they_never_reserve_more_than_the_limit(
    home: Home, setting: dict[str, Any]
) -> None:
    journal = home.journal(budgets=limits(**setting))
    keys = [f"telegram:{number}" for number in range(50)]
    claims = [await begun(journal, f"run{key}", key) for key in keys]
    refused: list[OverBudget] = []

    async def attempt(claimed: Claim) -> None:
        try:
            await start(journal, claimed, priced())
        except OverBudget as error:
            refused.append(error)

    async with asyncio.TaskGroup() as tasks:
        for claimed in claims:
            tasks.create_task(attempt(claimed))
    ((requests, tokens, cost),) = await home.rows(
        "SELECT sum(requests), sum(tokens_in + tokens_out), sum(cost) FROM model_call_costs"
    )
    spent = {"tokens_per_day": tokens, "cost_per_day": cost, "requests_per_day": requests}
    ((key, limit),) = setting.items()
    assert 0.8 * limit <= spent[key] <= limit
    assert len(refused) == 50 - int(requests)


async def test_concurrent_ends_are_all_counted(home: Home) -> None:
    journal = home.journal(budgets=limits(requests_per_day=100))
    claims = [await begun(journal, f"run{n}", f"telegram:{n}") for n in range(20)]
    for claimed in claims:
        await start(journal, claimed, priced())
    async with asyncio.TaskGroup() as tasks:
        for claimed in claims:
            ending = replied(claimed, answer())
            tasks.create_task(journal.finish(claimed.lane, claimed.run, ending))
    (row,) = await home.spending().rows("day", DAY, {})
    assert (row.requests, row.tokens_in, row.tokens_out) == (20, 140, 100)


async def child_of(home: Home, parent: str, name: str) -> Claim:
    """A background run of a run."""
    claimed = await begun(home.journal(), name, f"task:{name}")
    await home.execute(
        "UPDATE runs SET parent = :p, origin = 'run', sender_id = 'x' WHERE id = :c",
        p=parent,
        c=name,
    )
    run = msgspec.structs.replace(claimed.run, origin=Origin.RUN, sender_id="x")
    return msgspec.structs.replace(claimed, run=run)


async def test_a_run_s_own_limit_counts_what_its_children_spent(home: Home) -> None:
    journal = home.journal(budgets=Budgets(UNLIMITED, max_run_cost=250.0))
    parent = await begun(journal, "parent")
    await start(journal, parent, priced())
    child = await child_of(home, "parent", "child")
    with pytest.raises(OverBudget, match=r"\$250\.00 for one answer") as caught:
        await start(journal, child, priced())
    assert caught.value.reason == "limit_cost"
    other = await begun(journal, "other", "telegram:9")
    await start(journal, other, priced())


async def test_a_grandchild_draws_on_its_root_even_if_its_parent_asked_nobody(home: Home) -> None:
    journal = home.journal(budgets=Budgets(UNLIMITED, max_run_cost=250.0))
    root = await begun(journal, "root")
    await child_of(home, "root", "child")
    grandchild = await child_of(home, "child", "grandchild")
    await start(journal, grandchild, priced())
    with pytest.raises(OverBudget, match="for one answer"):
        await start(journal, root, priced())
    assert await home.column("SELECT root FROM model_call_costs") == ["root"]


@pytest.mark.parametrize(
    "setting",
    [
        {"person": AllowanceSettings(requests_per_day=3)},
        {"chat": AllowanceSettings(requests_per_day=3)},
    ],
)
async def test_a_storm_of_children_passes_no_limit_of_a_person_or_a_chat(
    home: Home, setting: dict[str, Any]
) -> None:
    journal = home.journal(budgets=limits(**setting))
    await begun(journal, "root")
    first = [await child_of(home, "root", f"child{number}") for number in range(5)]
    storm = first + [await child_of(home, "child1", f"grandchild{n}") for n in range(5)]
    assert await allowed(journal, storm) == 3
    accounts = await home.rows("SELECT DISTINCT person, chat, job FROM model_call_costs")
    assert accounts == [(f"telegram:{ANN}", "telegram:7", "")]


async def test_a_storm_of_children_passes_not_the_cost_of_one_answer(home: Home) -> None:
    journal = home.journal(budgets=Budgets(UNLIMITED, max_run_cost=630.0))
    await begun(journal, "root")
    storm = [await child_of(home, "root", f"child{number}") for number in range(8)]
    assert await allowed(journal, storm) == 3


async def allowed(journal: Journal, claims: list[Claim]) -> int:
    """How many of these may ask, all at once."""
    begun_claims: list[Claim] = []

    async def attempt(claimed: Claim) -> None:
        with suppress(OverBudget):
            await start(journal, claimed, priced())
            begun_claims.append(claimed)

    async with asyncio.TaskGroup() as tasks:
        for claimed in claims:
            tasks.create_task(attempt(claimed))
    return len(begun_claims)


async def fired(home: Home, name: str = "look") -> tuple[Claim, int]:
    """The run of a job whose time has come, and the job's id."""
    job = await add(home, plan(home, name=name))
    home.clock.advance(3_601)
    await home.jobs().fire()
    return await claim(home.journal(), f"run of {name}", f"cron:{job.id}"), job.id


@pytest.mark.parametrize("called", ["look", "cron:1", None])
async def test_a_job_s_run_and_its_children_draw_on_the_job_by_its_name_or_id(
    home: Home, called: str | None
) -> None:
    limit = AllowanceSettings(requests_per_day=2)
    claimed, job_id = await fired(home)
    named = {"look": "look", "cron:1": f"cron:{job_id}", None: "another"}[called]
    journal = home.journal(budgets=limits(jobs={named: limit}))
    storm = [await child_of(home, claimed.run.id, f"child{number}") for number in range(4)]
    assert await allowed(journal, [claimed, *storm]) == (5 if called is None else 2)
    assert await home.rows("SELECT DISTINCT person, job FROM model_call_costs") == [
        ("", f"cron:{job_id}")
    ]


async def test_each_job_has_what_is_set_for_any(home: Home) -> None:
    journal = home.journal(budgets=limits(job=AllowanceSettings(requests_per_day=1)))
    job, _ = await fired(home, "one")
    other, _ = await fired(home, "other")
    assert await allowed(journal, [job, other]) == 2
    with pytest.raises(OverBudget):
        await start(journal, job, priced(2))


async def test_a_soft_limit_is_told_once_a_day_under_an_answer(home: Home) -> None:
    journal = home.journal(budgets=limits(requests_per_day=5, soft=0.4))
    for number in range(4):
        claimed = await begun(journal, f"run{number}")
        await start(journal, claimed, priced())
        await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    bodies = await home.column("SELECT body FROM outbound ORDER BY id")
    texts = [msgspec.json.decode(body)["text"] for body in bodies]
    line = (
        "(40 % of the budget of 5 model requests a day is used (2 model requests), "
        "until 2027-01-16 00:00 (UTC).)"
    )
    assert texts == ["yes", f"yes\n\n{line}", "yes", "yes"]


async def test_what_is_reserved_shows_beside_what_was_used(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    ann = Account(person=f"telegram:{ANN}", chat="", job="", model="other/model")
    standing = await home.spending().standing(DAY, ann)
    assert standing["person"] == standing["all"] == UsageSum(requests=1, tokens=110, cost=210.0)
    assert standing["model"] == UsageSum()


async def test_a_deleted_conversation_leaves_the_sums_and_nothing_else(home: Home) -> None:
    journal = home.journal(budgets=limits(person=AllowanceSettings(requests_per_day=1)))
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    await home.eraser().delete(KEY)
    assert await home.rows(ROW) == []
    await admit(journal, said("again", ANN, Address("telegram", "7")))
    again = await claim(journal, "again")
    with pytest.raises(OverBudget, match="for you"):
        await start(journal, again, priced())


async def test_a_run_given_back_in_a_call_used_its_prompt(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await journal.release(claimed.lane, claimed.run)
    assert await home.rows(ROW) == [("estimated", 1, 10, 0, 10.0)]


def beside(*, apart: bool = False) -> AuxiliaryCall:
    return AuxiliaryCall(profile=priced().profile, estimate=10, max_tokens=100, apart=apart)


SUMMARY = SummaryEntry(text="in short", covers_from=1, upto=1, usage=Usage(7, 5, 2))


async def test_a_call_beside_the_run_s_own_is_reserved_and_settled_with_what_it_gave(
    home: Home, journal: SqlJournal, claimed: Claim
) -> None:
    reserved = await journal.start_auxiliary(claimed.lane, claimed.run, beside())
    assert reserved.max_tokens == 100
    assert await home.rows(ROW) == [("open", 1, 10, 100, 210.0)]
    effects = [reserved.settled(Usage(7, 5, 2))]
    await journal.record_result(claimed.lane, claimed.run, [SUMMARY], effects)
    await start(journal, claimed, priced())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0)] * 2
    (row,) = await home.spending().rows("model", DAY, {})
    assert (row.requests, row.tokens_out, row.cost) == (2, 10, 32.0)


async def test_a_call_beside_the_run_s_own_is_refused_at_a_limit_and_nothing_is_kept(
    home: Home,
) -> None:
    journal = home.journal(budgets=limits(requests_per_day=1))
    claimed = await begun(journal)
    await journal.start_auxiliary(claimed.lane, claimed.run, beside())
    other = await begun(journal, "other", "telegram:8")
    before = await home.everything()
    with pytest.raises(OverBudget) as caught:
        await journal.start_auxiliary(other.lane, other.run, beside())
    assert 0 < caught.value.until - home.clock.now() <= 86_400
    assert await home.everything() == before


async def test_the_answer_of_a_call_beside_is_cut_to_what_is_left(home: Home) -> None:
    journal = home.journal(budgets=limits(tokens_per_day=90))
    claimed = await begun(journal)
    reserved = await journal.start_auxiliary(claimed.lane, claimed.run, beside())
    assert reserved.max_tokens == 80


async def test_a_call_beside_that_a_crash_cut_gives_its_place_to_the_next(home: Home) -> None:
    doomed = home.doomed()
    claimed = await begun(doomed)
    await doomed.start_auxiliary(claimed.lane, claimed.run, beside())
    await home.reopen()
    journal = home.journal()
    again = await claim(journal)
    reserved = await journal.start_auxiliary(again.lane, again.run, beside())
    effects = [reserved.settled(Usage(7, 5, 2))]
    await journal.record_result(again.lane, again.run, [SUMMARY], effects)
    assert await home.rows(ROW) == [("replaced", 1, 0, 0, 0.0), ("settled", 1, 7, 5, 16.0)]


async def test_a_run_stopped_in_a_call_beside_used_its_prompt(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    reserved = await journal.start_auxiliary(claimed.lane, claimed.run, beside())
    await admit(journal, stop_order())
    assert await home.rows(ROW) == [("estimated", 1, 10, 0, 10.0)]
    await home.do(reserved.settled(Usage(7, 5, 2)).write)
    assert await home.rows(ROW) == [("estimated", 1, 10, 0, 10.0)]
    await leases_of(journal).renew()  # over PostgreSQL it is only then in the totals
    assert await home.column("SELECT sum(cost) FROM usage_totals WHERE level = 'all'") == [10.0]


async def test_a_call_after_a_run_that_was_taken_for_lost_counts_in_the_end_as_it_was(
    home: Home, journal: SqlJournal, claimed: Claim
) -> None:
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    again = await begun(journal, "again")
    reserved = await journal.start_auxiliary(again.lane, claimed.run, beside(apart=True))
    await start(journal, again, priced())
    assert (await home.rows(ROW))[0] == ("lost", 1, 10, 100, 210.0)
    await home.do(reserved.settled(Usage(7, 5, 2)).write)
    await home.do(reserved.settled(Usage(7, 5, 2)).write)
    await journal.finish(again.lane, again.run, replied(again, answer()))
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0)] * 2
    (row,) = await home.spending().rows("model", DAY, {})
    assert (row.requests, row.tokens_in, row.tokens_out, row.cost) == (2, 14, 10, 32.0)


async def test_a_call_after_a_run_is_not_its_answer_s_cost(home: Home) -> None:
    journal = home.journal(budgets=Budgets(UNLIMITED, max_run_cost=250.0))
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await journal.start_auxiliary(claimed.lane, claimed.run, beside(apart=True))
    with pytest.raises(OverBudget, match="for one answer"):
        await journal.start_auxiliary(claimed.lane, claimed.run, beside())


async def test_a_call_whose_conversation_was_deleted_meanwhile_is_counted(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await journal.finish(claimed.lane, claimed.run, replied(claimed))
    again = await begun(journal, "again")
    reserved = await journal.start_auxiliary(again.lane, again.run, beside())
    await home.execute("DELETE FROM model_call_costs")
    await home.do(reserved.settled(Usage(7, 5, 2)).write)
    (row,) = await home.spending().rows("model", DAY, {})
    assert (row.requests, row.cost) == (1, 16.0)


async def test_a_call_of_a_number_that_was_there_is_a_call_of_its_own(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    for _ in range(2):
        await start(journal, claimed, priced())
        await journal.record_reply(claimed.lane, claimed.run, asking_for_a_tool())
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0)] * 2


@on_postgres
async def test_two_chats_that_are_answered_at_once_do_not_wait_for_each_other(home: Home) -> None:
    journal = home.journal()
    held_up, other = await begun(journal, "r1"), await begun(journal, "r2", "telegram:8")
    for claimed in (held_up, other):
        await start(journal, claimed, priced())
    written, go_on = threading.Event(), threading.Event()

    def first(connection: sa.Connection) -> None:
        runs.finish(
            Unit(connection, journal.writer), held_up.lane, held_up.run, replied(held_up, answer())
        )
        written.set()
        assert go_on.wait(10)

    finishing = asyncio.create_task(home.do(first))
    try:
        assert await asyncio.to_thread(written.wait, 10)
        async with asyncio.timeout(9):  # the other one waits for 10
            await journal.finish(other.lane, other.run, replied(other, answer()))
    finally:
        go_on.set()
        await finishing
    (row,) = await home.spending().rows("day", "2000-01-01", {})
    assert row.requests == 2


@on_postgres
@pytest.mark.parametrize("tokens", [10_000_000, 1_000])
async def test_calls_are_checked_side_by_side_only_far_from_a_limit(
    home: Home, tokens: int
) -> None:
    journal = home.journal(budgets=limits(tokens_per_day=tokens))
    held_up, other = await begun(journal, "r1"), await begun(journal, "r2", "telegram:8")
    checked, go_on = threading.Event(), threading.Event()

    def first(connection: sa.Connection) -> None:
        runs.start_model(
            Unit(connection, journal.writer), held_up.lane, held_up.run, [priced()], None
        )
        checked.set()
        assert go_on.wait(10)

    starting = asyncio.create_task(home.do(first))
    assert await asyncio.to_thread(checked.wait, 10)
    second = asyncio.create_task(start(journal, other, priced()))
    done, _ = await asyncio.wait([second], timeout=0.5 if tokens == 1_000 else 5)
    assert bool(done) is (tokens == 10_000_000)
    go_on.set()
    await starting
    await second


@pytest.mark.process
@on_postgres
async def test_a_limit_is_not_passed_where_calls_begin_to_be_checked_one_by_one(
    home: Home,
) -> None:
    claims = [await begun(home.journal(), f"r{n}", f"telegram:{n}") for n in range(90)]
    await start(home.journal(), claims[0], priced())
    ((each,),) = await home.rows("SELECT tokens_in + tokens_out FROM model_call_costs")
    ((connections,),) = await home.rows(
        "SELECT setting FROM pg_settings WHERE name = 'max_connections'"
    )
    # Half of it is used up after a few: from there on one after the other.
    limit = 2 * int(connections) * int(each)
    used = limit // 2 - 5 * int(each)
    await home.execute("UPDATE model_call_costs SET tokens_in = :n, tokens_out = 0", n=used)
    journals = [home.journal(f"p{n}", budgets=limits(tokens_per_day=limit)) for n in range(2)]
    async with asyncio.TaskGroup() as tasks:
        tries = [tasks.create_task(allowed(journals[n % 2], claims[1 + n :: 2])) for n in range(2)]
    ((total,),) = await home.rows("SELECT sum(tokens_in + tokens_out) FROM model_call_costs")
    assert sum(task.result() for task in tries) == len(claims) - 1
    assert used < int(total) <= limit


async def test_what_was_used_is_the_same_before_and_after_it_is_summed_up(home: Home) -> None:
    journal, spending = home.journal(), home.spending()
    who = Account(person=f"telegram:{ANN}", chat="telegram:7", job="", model="p/m")
    for number in range(3):
        claimed = await begun(journal, f"r{number}")
        await start(journal, claimed, priced())
        await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
        before = await spending.rows("person", "2000-01-01", {})
        (day,) = await home.column("SELECT max(day) FROM model_call_costs")
        standing = await spending.standing(day, who)
        await leases_of(journal).renew()
        assert before[0].requests == number + 1
        assert await spending.rows("person", "2000-01-01", {}) == before
        assert await spending.standing(day, who) == standing
        assert {level: used.requests for level, used in standing.items()} == dict.fromkeys(
            ("all", "person", "chat", "model"), number + 1
        )
    assert await home.rows("SELECT * FROM usage_changes") == []
