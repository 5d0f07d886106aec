"""How often a plain turn waits for a PostgreSQL server: this may shrink, and not grow unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable
from typing import TypeVar

import pytest

from nanobot.plugins.budgets.limits import Budgets
from nanobot.plugins.budgets.settings import BudgetSettings
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.providers.base import ToolCall, Usage
from nanobot.session.entries import ReplyEntry, ToolResultEntry, ToolStartedEntry
from nanobot.session.inbox import Busy
from nanobot.session.runs import Claim, Ending, Lane, NewRun, Run
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import NO_LIMITS, Home, leases_of
from tests.store.making import CHAT, KEY, admit, begun, call, let_in, rendered, said, told
from tests.store.proxy import Proxy, proxied

T = TypeVar("T")


class Turns:
    """Turns of a conversation over one connection, with the round trips of each verb."""

    def __init__(self, journal: SqlJournal, proxy: Proxy) -> None:
        self.trips = Counter[str]()
        self._journal = journal
        self._proxy = proxy

    async def _counted(self, verb: str, done: Awaitable[T]) -> T:
        before = self._proxy.trips
        result = await done
        self.trips[verb] += self._proxy.trips - before
        return result

    async def one(self, number: int, *, together: bool = True) -> None:
        """A message, its run with one model call, its answer delivered."""
        journal, name = self._journal, f"r{number}"
        claimed: Claim | None
        if together:
            new = NewRun(name, "UTC")
            came = journal.admit_claiming("telegram", let_in(said(name)), name, 50, Busy(), new)
            claimed = (await self._counted("admit+claim", came)).claim
        else:
            await self._counted("admit", admit(journal, said(name), cursor=name))
            claimed = await self._counted("claim", journal.claim(KEY, name, "UTC"))
        assert claimed is not None
        lane, run = claimed.lane, claimed.run
        await self._counted("start_model", journal.start_model(lane, run, [call()], None))
        reply = ReplyEntry(call=1, text="It is so.", usage=Usage(100, 10))
        answer = told(reply.text, run.reply_key)
        ending = Ending(state=RunState.COMPLETED, bodies=(reply,), outbound=(answer,))
        if together:
            parts = rendered(reply.text)
            done = journal.finish_sending(lane, run, ending, parts)
            row = (await self._counted("finish+begin_send", done)).sending
        else:
            await self._counted("finish", journal.finish(lane, run, ending))
            row = await self._counted("next_outbound", journal.next_outbound(CHAT))
            assert row is not None
            begun = journal.begin_send(row, rendered(reply.text), 0, duplicate=False)
            await self._counted("begin_send", begun)
        journal.let_go(lane)
        assert row is not None
        await self._counted("receipt", journal.receipt(row, 0, name, begin=None))

    async def round(self, lane: Lane, run: Run, number: int, *, together: bool) -> None:
        """The model asks for a tool, which is called."""
        journal, asked = self._journal, ToolCall("c", "clock", "{}")
        reply = ReplyEntry(call=number, text="", tool_calls=(asked,), usage=Usage(100, 10))
        started = ToolStartedEntry(call=number, index=0, name="clock")
        result = ToolResultEntry(call=number, index=0, name="clock", text="noon")
        if together:
            begun = journal.record_reply(lane, run, reply, started)
            await self._counted("record_reply+start_tool", begun)
            following = journal.start_model(lane, run, [result, call(number + 1)], None)
            await self._counted("record_result+start_model", following)
            return
        await self._counted("record_reply", journal.record_reply(lane, run, reply))
        await self._counted("start_tool", journal.start_tool(lane, run, started))
        await self._counted("record_result", journal.record_result(lane, run, [result]))
        await self._counted("start_model", journal.start_model(lane, run, [call(number + 1)], None))


async def trips(
    postgres_url: str, *, together: bool, budgets: Budgets = NO_LIMITS
) -> dict[str, int]:
    """The round trips of a turn by verb, after the statements were prepared."""
    async with proxied(postgres_url) as (proxy, url):
        home = Home(lambda: PostgresDatabase(url, workers=1), shared=True)
        await home.clear()
        try:
            journal = home.journal(budgets=budgets)
            turns = Turns(journal, proxy)
            assert (await leases_of(journal).take_chat(CHAT, helping=False)).ours
            for number in range(3):
                await turns.one(number, together=together)
            turns.trips.clear()
            await turns.one(3, together=together)
        finally:
            await home.database.close()
            await proxy.closed()
    return dict(turns.trips)


async def test_a_plain_turn_waits_six_times_for_the_server(postgres_url: str) -> None:
    assert await trips(postgres_url, together=True) == {
        "admit+claim": 2,
        "start_model": 1,
        "finish+begin_send": 2,
        "receipt": 1,
    }


@pytest.mark.parametrize(
    "waits",
    [
        {"record_reply": 2, "start_tool": 1, "record_result": 1, "start_model": 1},
        {"record_reply+start_tool": 2, "record_result+start_model": 1},
    ],
)
async def test_a_round_of_tools_waits_five_times_or_three(
    postgres_url: str, waits: dict[str, int]
) -> None:
    together = len(waits) == 2
    async with proxied(postgres_url) as (proxy, url):
        home = Home(lambda: PostgresDatabase(url, workers=1), shared=True)
        await home.clear()
        try:
            journal = home.journal(budgets=Budgets(BudgetSettings(zone="UTC")))
            claimed = await begun(journal)
            turns = Turns(journal, proxy)
            await journal.start_model(claimed.lane, claimed.run, [call()], None)
            # Statements are prepared first.
            await turns.round(claimed.lane, claimed.run, 1, together=together)
            turns.trips.clear()
            await turns.round(claimed.lane, claimed.run, 2, together=together)
        finally:
            await home.database.close()
            await proxy.closed()
    assert turns.trips == waits


async def test_the_default_budgets_cost_no_further_wait(postgres_url: str) -> None:
    budgets = Budgets(BudgetSettings(zone="UTC"))
    assert budgets.daily
    assert await trips(postgres_url, together=True, budgets=budgets) == await trips(
        postgres_url, together=True
    )


async def test_with_claim_and_send_apart_it_waits_more_often(postgres_url: str) -> None:
    apart = await trips(postgres_url, together=False)
    assert (apart["admit"], apart["claim"]) == (2, 2)
    assert (apart["finish"], apart["next_outbound"], apart["begin_send"]) == (2, 1, 1)
