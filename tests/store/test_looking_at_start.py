"""What a start looks at before it serves: the pending rows, whatever else the store has."""

from __future__ import annotations

import pytest

from benchmarks.filled import filled
from benchmarks.filled_rows import Size
from nanobot.store.database import migrate
from nanobot.store.quarantine.guard import Guard
from nanobot.store.unit import StoreContext
from nanobot.system import RandomIds, SystemClock
from tests.store.crowding import Cost, MeteredDatabase
from tests.store.home import Home
from tests.store.making import admit, said

_FEW = 500
"""Steps by which two searches may differ: they are counted in hundreds of each transaction."""


async def _looked(size: Size | None) -> list[Cost]:
    database = MeteredDatabase()
    try:
        database.run_now(migrate.prepare)
        if size is not None:
            filled(database, size)
        guard = Guard(database, StoreContext(SystemClock(), RandomIds(), "us"))
        assert await guard.look_at_pending() == 0
        return database.costs
    finally:
        await database.close()


async def test_a_start_reads_no_more_of_a_store_of_years_than_of_a_new_one() -> None:
    new = await _looked(None)
    years = await _looked(Size(messages=2_000, chats=500, jobs=500, memories=500))

    assert len(years) == len(new)
    assert sum(cost.rows for cost in years) == sum(cost.rows for cost in new)
    assert sum(cost.steps for cost in years) <= sum(cost.steps for cost in new) + _FEW


@pytest.mark.parametrize("unreadable", [(1,), (450,), (10, 210, 440)])
async def test_an_unreadable_message_is_found_on_any_page_of_pending_ones(
    home: Home, unreadable: tuple[int, ...]
) -> None:
    writer = StoreContext(home.clock, home.ids, "us", 600.0 if home.shared else None)
    guard, journal = Guard(home.database, writer), home.journal()
    for number in range(450):
        waits = said("waits", key=str(number))
        await admit(journal, waits, session_key=f"telegram:{number % 45}")
    pending = await home.column("SELECT id FROM inbound WHERE state = 'pending' ORDER BY id")
    assert len(pending) == 450
    ids = ", ".join(str(pending[number - 1]) for number in unreadable)
    await home.execute(f"UPDATE inbound SET body = :v WHERE id IN ({ids})", v=b"\xff\xfe")

    assert await guard.look_at_pending() == len(unreadable)

    assert len(await home.rows("SELECT id FROM inbound")) == 450 - len(unreadable)
    assert await guard.look_at_others() == 0


async def test_a_row_that_nothing_waits_for_is_found_once_people_are_answered(home: Home) -> None:
    writer = StoreContext(home.clock, home.ids, "us", 600.0 if home.shared else None)
    guard = Guard(home.database, writer)
    pauses: list[None] = []
    await home.execute(
        "INSERT INTO sessions (key, title, created_at, updated_at, last_read_at, head_seq,"
        " head_hash, window_from, remembered_seq, prompt, prompt_variant, token)"
        " WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 549)"
        " SELECT 'telegram:' || i, '', 1, 1, 1, 0, :g, 1, 0, '', '', 0 FROM n",
        g=bytes(32),
    )
    await home.execute("UPDATE sessions SET head_hash = :v WHERE key = 'telegram:300'", v=b"\xff")

    async def pause() -> None:
        pauses.append(None)

    assert await guard.look_at_pending() == 0
    assert await guard.look_at_others(pause) == 1
    assert len(pauses) == 2
