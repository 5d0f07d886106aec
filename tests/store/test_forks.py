"""Forks in a file and on a server: the copy of the entries, its chain, and the run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest
import sqlalchemy as sa

from nanobot.plugins.fork import PLUGIN
from nanobot.plugins.fork.plan import ForkPlan, ForkRequest, plan_of
from nanobot.plugins.fork.store import SqlForks
from nanobot.session.entries import ForkEntry, UserEntry
from nanobot.session.runs import Claim
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.plugin_tables import migrate_plugin
from tests.store.home import Home
from tests.store.making import KEY, RESULT, answered, asked, call, reply
from tests.stored import runs_of


@pytest.fixture
async def forks(home: Home, journal: SqlJournal) -> AsyncIterator[SqlForks]:
    await migrate_plugin(home.database, "fork", PLUGIN.migrations)
    yield SqlForks(home.database, journal.writer)
    for name in ("fork_runs", "plugin_revisions"):
        drop = sa.text(f"DROP TABLE {name}")
        await home.database.transact(partial(_execute, statement=drop))


def _execute(connection: sa.Connection, statement: sa.TextClause) -> None:
    connection.execute(statement)


async def planned(forks: SqlForks, request: ForkRequest) -> ForkPlan:
    return plan_of(await forks.source("run", request), request)


async def test_a_fork_shares_the_entries_and_its_run_is_claimed_like_any_other(
    home: Home, journal: SqlJournal, claimed: Claim, forks: SqlForks
) -> None:
    await asked(journal, claimed)
    await journal.record_reply(claimed.lane, claimed.run, reply("Let me look."))
    await journal.record_result(claimed.lane, claimed.run, [RESULT])
    await journal.start_model(claimed.lane, claimed.run, [call(2)], None)
    await answered(journal, claimed, "It is noon.")
    last = (await runs_of(home.records()).entries("run"))[-1].seq
    request = ForkRequest(at=last, say="Again?", by="ann", asked="order 1")
    plan = await planned(forks, request)

    fork = await forks.create(plan)
    assert await forks.create(plan) == fork
    assert await forks.unfinished() == [fork]
    assert await forks.copy(fork)
    assert await forks.copy(fork)  # a second process does nothing more

    assert await forks.unfinished() == []
    taken = await journal.claim(f"fork:{fork}", "other", "UTC")
    assert taken is not None
    assert (taken.run.id, taken.run.state, taken.window_from) == (fork, RunState.PREPARING, 2)
    texts = [entry.body.text for entry in taken.entries if isinstance(entry.body, UserEntry)]
    assert texts[-1] == "Again?"
    assert taken.prompt == "digest"
    origin = await forks.origin(f"fork:{fork}")
    assert isinstance(origin, ForkEntry)
    assert (origin.session, origin.entry) == (KEY, last)
    audited = await home.chains().verified("", origin.head)
    assert {log.session_key for log in audited} >= {KEY, f"fork:{fork}"}


async def test_an_abandoned_fork_leaves_nothing_behind(
    home: Home, journal: SqlJournal, claimed: Claim, forks: SqlForks
) -> None:
    await asked(journal, claimed)
    await answered(journal, claimed, "It is noon.")
    fork = await forks.create(await planned(forks, ForkRequest(by="ann")))

    await forks.abandon(fork)

    assert await forks.unfinished() == []
    assert await home.column("SELECT key FROM sessions") == [KEY]
    assert await home.column("SELECT DISTINCT session_key FROM entries") == [KEY]
