"""What the verbs look up is found by an index: no statement goes through a table that grows."""

from __future__ import annotations

import re
import sqlite3

import pytest
import sqlalchemy as sa

from nanobot.plugins.approvals.port import ApprovalAnswer
from nanobot.plugins.runs.store import ToolCalls
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from tests.store.home import Home
from tests.store.making import (
    KEY,
    PROMPT,
    admit,
    answered,
    approval,
    begun,
    call,
    claim,
    following,
    performing,
    prompt,
    rendered,
    reply,
    said,
    told,
)
from tests.stored import approvals_of, consuming, counts_of, marks_of, outbox_of, runs_of

GROWING = (
    "entries",
    "inbound",
    "outbound",
    "outbound_parts",
    "runs",
    "model_call_costs",
    "occurrences",
    "memories",
    "usage_totals",
)
SMALL = ("inbound_open", "outbound_open", "outbound_held", "outbound_dead", "runs_live")
"""Indexes of what is going on now: these may be gone through."""


class Statements:
    """What a store executes, and how SQLite goes about it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._seen: dict[str, None] = {}

    async def watch(self) -> None:
        def begin(connection: sa.Connection) -> None:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.set_trace_callback(self._seen.setdefault)

        await self._home.do(begin)

    async def slow(self) -> dict[str, str]:
        """The statements that go through a table, or for live runs through ended ones."""
        statements = [
            statement
            for statement in self._seen
            if re.match("SELECT|UPDATE|DELETE|WITH", statement)
        ]

        def explain(connection: sa.Connection) -> dict[str, str]:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.set_trace_callback(None)
            plans = {
                sql: [row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {sql}")]
                for sql in statements
            }
            return {sql: step for sql, plan in plans.items() for step in plan if _slow(sql, step)}

        return await self._home.do(explain)


def _slow(sql: str, step: str) -> bool:
    live = "runs.state NOT IN" in sql and re.search(r"\bruns\b", step) is not None
    if live and "USING INDEX" in step and not re.search("runs_(live|children|below)", step):
        return True
    scan = re.match(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", step)
    return scan is not None and scan[1] in GROWING and scan[2] not in SMALL


async def test_no_verb_of_a_conversation_goes_through_a_table_that_grows(new_home: Home) -> None:
    journal, records, statements = new_home.journal(), new_home.records(), Statements(new_home)
    await statements.watch()
    await answered(journal, await begun(journal, "r1"), "hi")
    row = await following(journal)
    await journal.begin_send(row, rendered("hi"), 0, duplicate=False)
    await journal.receipt(row, 0, "m", begin=None)
    await journal.unfetched("telegram")
    (command,) = await admit(journal, performing())
    await journal.begun_commands("telegram")
    await journal.performed(command.inbound_id, told("done", "of the command"))
    await admit(journal, said("again"))
    await journal.ready()
    claimed = await claim(journal, "r2")
    await journal.start_model(claimed.lane, claimed.run, [prompt(), call()], PROMPT)
    await journal.record_reply(claimed.lane, claimed.run, reply())
    await journal.park(claimed.lane, claimed.run, approval(run_id="r2"))
    await journal.held(KEY)
    (question,) = await approvals_of(records).approvals(session="", state="open", limit=10)
    await approvals_of(journal).answer(question.id, ApprovalAnswer(state="denied", by="1"))
    await claim(journal, "x")
    await records.cancel("r2", Ending(state=RunState.ABORTED), "1")
    await journal.post(KEY, told("news", "p1"))
    await consuming(journal).oldest_owed()
    await journal.owed_chats("telegram")
    await consuming(journal).take_inbound(None)
    await journal.session(KEY)
    await counts_of(records).counts()
    await marks_of(records).mark_read(KEY)
    await runs_of(records).listed(session=KEY, state="", limit=10)
    await runs_of(records).listed(session="", state="live", limit=10)
    await ToolCalls(new_home.database, records.writer).listed(session=KEY, name="", limit=10)
    await outbox_of(records).listed(state="dead", limit=10)
    await new_home.eraser().erase(KEY, 1, "1")
    assert await statements.slow() == {}


@pytest.mark.parametrize("sql", ["SELECT * FROM inbound WHERE at = 1.0"])
async def test_a_statement_that_does_would_be_found(new_home: Home, sql: str) -> None:
    statements = Statements(new_home)
    await statements.watch()
    await new_home.rows(sql)
    assert list(await statements.slow()) == [sql]
