"""A transaction that relies on what it did not read is repeated, and reads, if that has changed."""

from __future__ import annotations

import pytest

from nanobot.errors import Fenced, OverBudget
from nanobot.plugins.common.store import chain
from nanobot.session.entries import ReplyEntry
from nanobot.store.held_lanes import Head
from nanobot.store.journal.journal import SqlJournal
from tests.plugins.budgets.test_spending import answer, asking_for_a_tool, limits, priced, replied
from tests.store.home import Home, on_postgres
from tests.store.making import CHAT, KEY, begun, call, claim, told

pytestmark = on_postgres
SPENT = "SELECT sum(cost) FROM model_call_costs WHERE state <> 'replaced'"


def another(home: Home, **more: float) -> SqlJournal:
    """Another process over the same database."""
    return home.journal("them", budgets=limits(**more)) if more else home.journal("them")


async def test_an_entry_of_another_process_in_between_joins_the_chain(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await journal.start_model(claimed.lane, claimed.run, [call()], None)
    await another(home).post(KEY, told("by the way", "post", CHAT))
    entries = await journal.record_reply(claimed.lane, claimed.run, asking_for_a_tool())
    kinds = await home.rows("SELECT kind FROM entries ORDER BY seq")
    assert [kind for (kind,) in kinds] == ["user", "model_call", "post", "reply"]
    assert entries[0].seq == 4
    await home.do(lambda connection: chain.verify(connection, KEY))


async def test_a_head_with_the_right_number_and_another_hash_is_not_continued(home: Home) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    journal.writer.held.note(claimed.lane, Head(1, bytes(32)))  # of a commit that was not kept
    await journal.start_model(claimed.lane, claimed.run, [call()], None)
    await home.do(lambda connection: chain.verify(connection, KEY))


async def test_whoever_lost_the_lane_is_fenced_though_it_knew_the_head(home: Home) -> None:
    doomed = home.doomed()
    lost = await begun(doomed)
    await claim(another(home))
    with pytest.raises(Fenced):
        await doomed.start_model(lost.lane, lost.run, [call()], None)
    with pytest.raises(Fenced):
        await doomed.record_reply(lost.lane, lost.run, ReplyEntry(call=1, text=""))


@pytest.mark.parametrize("amount", [{"cost_per_day": 100_000.0}, {"requests_per_day": 3_000.0}])
async def test_what_others_spent_in_between_counts(home: Home, amount: dict[str, float]) -> None:
    journal = home.journal(budgets=limits(**amount))
    first = await begun(journal, "run")
    await journal.start_model(first.lane, first.run, [priced()], None)  # reads, and is far
    await journal.record_reply(first.lane, first.run, asking_for_a_tool())
    await home.execute("UPDATE model_call_costs SET cost = 99950, requests = 3000")
    await home.execute("UPDATE usage_changes SET cost = 99950, requests = 3000")
    with pytest.raises(OverBudget):
        await journal.start_model(first.lane, first.run, [priced(2)], None)


async def test_a_call_that_was_left_open_is_settled_before_the_next(home: Home) -> None:
    budgets = limits(cost_per_day=1_000_000.0)
    journal = home.journal(budgets=budgets)
    warm = await begun(journal, "warm")
    await journal.start_model(warm.lane, warm.run, [priced()], None)
    await journal.finish(warm.lane, warm.run, replied(warm, answer()))
    journal.let_go(warm.lane)
    claimed = await begun(journal, "run")
    await journal.start_model(claimed.lane, claimed.run, [priced()], None)
    journal.let_go(claimed.lane)
    again = await claim(journal, "run")
    await journal.start_model(again.lane, again.run, [priced(2)], None)
    states = await home.rows("SELECT state FROM model_call_costs ORDER BY id")
    assert [state for (state,) in states] == ["settled", "replaced", "open"]
    assert (await home.rows(SPENT))[0][0] == pytest.approx(16.0 + 210.0)
