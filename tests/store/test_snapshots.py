"""Reads of several statements, with somebody writing between each two of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from nanobot.plugins.common.store import chain
from nanobot.store.database.database import Work
from nanobot.store.journal import claiming
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.unit import StoreContext, Unit
from tests.store.home import Home, on_postgres
from tests.store.making import KEY, admit, answered, asked, begun, claim, said, told

T = TypeVar("T")


async def interrupted(
    home: Home, work: Work[T], table: str, meanwhile: Callable[[], Coroutine[object, object, None]]
) -> T:
    """`work`, with `meanwhile` done by another connection right after it has read from `table`."""
    loop = asyncio.get_running_loop()
    waiting = [meanwhile]

    def watched(connection: sa.Connection) -> T:
        def after(*details: object) -> None:
            if f"FROM {table}" in str(details[2]) and waiting:
                asyncio.run_coroutine_threadsafe(waiting.pop()(), loop).result(10)

        sa.event.listen(connection, "after_cursor_execute", after)
        try:
            return work(connection)
        finally:
            sa.event.remove(connection, "after_cursor_execute", after)

    result = await home.do(watched)
    assert not waiting, f"nothing was read from {table}"
    return result


@on_postgres
async def test_a_message_that_is_claimed_during_the_look_is_in_neither_of_two_states(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, other = home.journal(), home.doomed()
    await admit(journal, said("hello"))
    loop, of_live_runs, claims = asyncio.get_running_loop(), claiming._LIVE, [claim]

    class Interrupted:
        """The first statement of the look, behind which somebody else claims the message."""

        def execute(self, connection: sa.Connection) -> Any:
            rows = of_live_runs.execute(connection).all()
            asyncio.run_coroutine_threadsafe(claims.pop()(other), loop).result(10)
            return rows

    monkeypatch.setattr(claiming, "_LIVE", Interrupted())
    reader = StoreContext(home.clock, home.ids, "us", 600.0)
    lanes = await home.do(lambda connection: claiming.ready(Unit(connection, reader)))
    assert not claims
    assert [lane.session_key for lane in lanes] == [KEY]


@on_postgres
async def test_a_log_that_grows_while_it_is_verified_holds(home: Home, journal: SqlJournal) -> None:
    first = await begun(journal, "r1")
    await asked(journal, first)
    await answered(journal, first, "the first answer")

    async def grows() -> None:
        await journal.post(KEY, told("by the way", "post"))

    entries = await interrupted(home, lambda c: chain.verify(c, KEY), "entries", grows)
    assert entries == 4
    assert await home.verify(KEY) == 5
