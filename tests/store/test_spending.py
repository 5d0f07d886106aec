"""The ledger: what calls reserve, how that is settled, and that no limit is ever passed."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from nanobot.agent.states import RunState
from nanobot.budgets import Budgets, Spender
from nanobot.bus.events import Address, OutboundKind, OutboundMessage
from nanobot.errors import Fenced, OverBudget
from nanobot.journal import Claim, Ending, Journal
from nanobot.providers.base import Price, ToolCall, Usage
from nanobot.session.entries import ModelCallEntry, NoteEntry, ReplyEntry, SummaryEntry
from nanobot.settings import AllowanceSettings, BudgetSettings
from nanobot.usage import Used
from tests.store.home import Home
from tests.store.making import (
    ANN,
    KEY,
    PROMPT,
    admit,
    begun,
    call,
    claim,
    prompt,
    said,
    stop_order,
)

DOLLAR_A_TOKEN = Price(prompt=1.0, completion=2.0, cached=0.5)
DAY = "2027-01-15"  # when a ManualClock begins
ROW = "SELECT state, requests, tokens_in, tokens_out, cost FROM spending ORDER BY id"


def limits(**of_all: Any) -> Budgets:
    return Budgets(BudgetSettings(zone="UTC", **of_all))


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
    made = await journal.start_model(claimed.lane, claimed.run, [prompt(), body], PROMPT)
    started = made[-1].body
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
    assert await home.rows("SELECT * FROM spent") == []
    await journal.record_reply(claimed.lane, claimed.run, asking_for_a_tool())
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0)]
    await start(journal, claimed, priced(2))
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer(2, retries=3)))
    counted = await home.rows("SELECT level, name, requests, tokens_in, cost FROM spent")
    names = {"all": "", "person": f"telegram:{ANN}", "chat": "telegram:7", "model": "p/m"}
    assert sorted(counted) == sorted((level, name, 5, 14, 32.0) for level, name in names.items())


async def test_a_call_of_unknown_price_counts_tokens_only(home: Home) -> None:
    journal = home.journal(budgets=limits(cost_per_day=0.01))
    claimed = await begun(journal)
    await start(journal, claimed, call())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    (row,) = await home.spending().rows("model", DAY, {})
    assert (row.tokens_in, row.cost, row.unpriced) == (7, 0.0, 1)


async def test_a_call_that_nobody_heard_the_end_of_counts_as_it_was_reserved(home: Home) -> None:
    doomed = home.doomed()
    claimed = await begun(doomed)
    await start(doomed, claimed, priced())
    await home.reopen()
    journal = home.journal()
    again = await claim(journal)
    await start(journal, again, priced(2))
    states = await home.rows(ROW)
    assert states == [("lost", 1, 10, 100, 210.0), ("open", 1, 10, 100, 210.0)]


async def test_a_call_that_failed_costs_a_request_and_no_tokens(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    failed = NoteEntry(what="fallback", text="nobody there", retries=2)
    await journal.record_result(claimed.lane, claimed.run, [failed])
    assert await home.rows(ROW) == [("failed", 3, 0, 0, 0.0)]


async def test_a_run_that_is_stopped_in_a_call_used_its_prompt_and_what_was_said(
    home: Home,
) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    partial = ReplyEntry(call=1, text="as far as", partial=True)
    await admit(journal, stop_order(bodies=(partial,)))
    assert await home.rows(ROW) == [("estimated", 1, 10, 3, 16.0)]
    run = await home.records().run("run")
    assert run is not None
    assert run.usage is not None
    assert (run.usage.prompt_tokens, run.usage.completion_tokens) == (10, 3)


async def test_a_run_that_is_stopped_before_the_model_spoke_used_its_prompt(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await admit(journal, stop_order())
    assert await home.rows(ROW) == [("estimated", 1, 10, 0, 10.0)]
    run = await home.records().run("run")
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

    async def one(claimed: Claim) -> None:
        try:
            await start(journal, claimed, priced())
        except OverBudget as error:
            refused.append(error)

    async with asyncio.TaskGroup() as tasks:
        for claimed in claims:
            tasks.create_task(one(claimed))
    ((requests, tokens, cost),) = await home.rows(
        "SELECT sum(requests), sum(tokens_in + tokens_out), sum(cost) FROM spending"
    )
    made = {"tokens_per_day": tokens, "cost_per_day": cost, "requests_per_day": requests}
    ((key, limit),) = setting.items()
    assert 0.8 * limit <= made[key] <= limit
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


async def test_a_run_s_own_limit_counts_what_its_children_spent(home: Home) -> None:
    journal = home.journal(budgets=Budgets(BudgetSettings(), max_run_cost=250.0))
    parent = await begun(journal, "parent")
    await start(journal, parent, priced())
    child = await begun(journal, "child", "telegram:8")
    await home.execute("UPDATE runs SET parent = 'parent' WHERE id = 'child'")
    with pytest.raises(OverBudget, match=r"\$250\.00 for one answer") as caught:
        await start(journal, child, priced())
    assert caught.value.reason == "limit_cost"
    other = await begun(journal, "other", "telegram:9")
    await start(journal, other, priced())


async def test_a_soft_limit_is_told_once_a_day_under_an_answer(home: Home) -> None:
    journal = home.journal(budgets=limits(requests_per_day=5, soft=0.4))
    for number in range(4):
        claimed = await begun(journal, f"run{number}")
        await start(journal, claimed, priced())
        await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    told = await home.column("SELECT body FROM outbound ORDER BY id")
    texts = [msgspec.json.decode(body)["text"] for body in told]
    line = (
        "(40 % of the budget of 5 model requests a day is used (2 model requests), "
        "until 00:00 on 2027-01-16 (UTC).)"
    )
    assert texts == ["yes", f"yes\n\n{line}", "yes", "yes"]


async def test_what_is_reserved_shows_beside_what_was_used(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    ann = Spender(person=f"telegram:{ANN}", chat="", job="", model="other/model")
    standing = await home.spending().standing(DAY, ann)
    assert standing["person"] == standing["all"] == Used(requests=1, tokens=110, cost=210.0)
    assert standing["model"] == Used()


async def test_a_deleted_conversation_leaves_the_sums_and_nothing_else(home: Home) -> None:
    journal = home.journal(budgets=limits(person=AllowanceSettings(requests_per_day=1)))
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    await home.records().delete(KEY)
    assert await home.rows(ROW) == []
    await admit(journal, said("again", ANN, Address("telegram", "7")))
    again = await claim(journal, "again")
    with pytest.raises(OverBudget, match="for you"):
        await start(journal, again, priced())


async def test_a_run_given_back_in_a_call_used_its_prompt(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await start(journal, claimed, priced())
    await journal.release(claimed.lane, claimed.run)
    assert await home.rows(ROW) == [("estimated", 1, 10, 0, 10.0)]


async def test_a_summary_counts_beside_the_run_s_own_calls(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    profile = priced().profile
    summary = SummaryEntry(
        text="in short", covers_from=1, upto=1, usage=Usage(7, 5, 2), profile=profile
    )
    await journal.record_result(claimed.lane, claimed.run, [summary])
    await start(journal, claimed, priced())
    await journal.finish(claimed.lane, claimed.run, replied(claimed, answer()))
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0)] * 2
    (row,) = await home.spending().rows("model", DAY, {})
    assert (row.requests, row.tokens_out, row.cost) == (2, 10, 32.0)


async def test_a_call_of_a_number_that_was_there_is_a_call_of_its_own(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    for _ in range(2):
        await start(journal, claimed, priced())
        await journal.record_reply(claimed.lane, claimed.run, asking_for_a_tool())
    assert await home.rows(ROW) == [("settled", 1, 7, 5, 16.0)] * 2
