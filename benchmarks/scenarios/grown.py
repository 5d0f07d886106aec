"""What the verbs cost in a store that is years old: the longest transaction of each."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.figures import Sample, Scenario
from benchmarks.filled import filled
from benchmarks.filled_rows import Size
from benchmarks.stage import Stage, Subject
from benchmarks.timed_database import TimedDatabase
from benchmarks.verbs import Verbs
from nanobot.plugins.budgets.limits import Budgets
from nanobot.plugins.budgets.settings import BudgetSettings
from nanobot.plugins.budgets.store.ledger import SqlCallLedger
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.erasure.store.writing_back import write_back
from nanobot.plugins.quiet.hours import QuietHours
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.plugins.quiet.store import limiter
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.opening import Store, contexts
from nanobot.store.servers import open_store
from nanobot.store.unit import StoreContext
from nanobot.system import RandomIds, SystemClock

TIMES = 5


def _ledger(context: StoreContext) -> SqlCallLedger:
    return SqlCallLedger(Budgets(BudgetSettings(cost_per_day=1_000_000.0)), context.clock)


async def grown(stage: Stage, _: Subject) -> Sample:
    """A store of 100,000 messages, 10,000 chats, 10,000 jobs and 10,000 memories: the longest
    transaction of each verb. With SQLite all share one thread, so other chats may wait that long.

    Each verb is called five times, for different chats: the one with a tenth of all messages, one
    that nobody has written in for a year, and new ones.
    """
    size = Size(*stage.effort.filled)
    async with _opened(stage, size) as (store, timed):
        verbs = Verbs(store, timed, size)
        await verbs.all(TIMES)  # statements are compiled at their first execution
        timed.longest.clear()
        for number in range(TIMES):
            await verbs.all(number)
        await verbs.due_together()
        await verbs.importing()
        await verbs.erasing()
        return {verb: taken * 1e3 for verb, taken in timed.longest.items() if verb}


@asynccontextmanager
async def _opened(stage: Stage, size: Size) -> AsyncIterator[tuple[Store, TimedDatabase]]:
    store = open_store(
        stage.home(),
        "",
        contexts(
            SystemClock(), RandomIds(), store_hooks(_ledger, limiter(QuietHours(QuietSettings())))
        ),
        command="benchmarks",
        crash="",
    )
    try:
        database = store.guard.inner
        assert isinstance(database, SqliteDatabase)
        await asyncio.to_thread(filled, database, size)
        await write_back(database)  # what was written in bulk is in the file, its pages are clean
        gc.freeze()  # as a gateway does that is ready
        yield store, TimedDatabase(database)
    finally:
        await store.close()


GROWN = Scenario("grown", (), grown, subjects=(Subject.NANOBOT,), once=True, unit_of_others="ms")
