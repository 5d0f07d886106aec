"""Conversations of one message from the shell: left out of lists, forgotten in time, and others."""

from __future__ import annotations

import pytest

from nanobot.plugins.conversations.lists import Filter
from nanobot.plugins.erasure.store import one_shots
from tests.store.home import Home
from tests.store.making import KEY, begun, ending
from tests.stored import lists_of, runs_of

DAY = 86_400.0
FOLDER = "cli:src-ab12cd-"


def named(number: int) -> str:
    return f"{FOLDER}once-{number:08x}"


async def done(home: Home, key: str, run: str) -> None:
    """One message there, answered."""
    journal = home.journal()
    claimed = await begun(journal, run, key)
    await journal.finish(claimed.lane, claimed.run, ending("Yes.", run_id=run))


async def there(home: Home) -> set[str]:
    return {row.key for row in await lists_of(home.records()).newest(limit=100, unread=False)}


async def test_lists_leave_them_out_unless_all_are_asked_for(home: Home) -> None:
    await done(home, named(1), "r1")
    await done(home, f"{FOLDER}6b0", "r2")
    await done(home, KEY, "r3")
    listed = await home.conversations().listed(Filter(), limit=10)
    assert {row.key for row in listed} == {f"{FOLDER}6b0", KEY}
    assert await there(home) == {named(1), f"{FOLDER}6b0", KEY}
    mine = await home.conversations().listed(Filter(once=True, find="SRC-ab12"), limit=10)
    assert {row.key for row in mine} == {named(1), f"{FOLDER}6b0"}
    assert await home.conversations().listed(Filter(once=True, find="%"), limit=10) == []


async def test_old_ones_that_nobody_went_on_with_are_forgotten(home: Home) -> None:
    await done(home, named(1), "r1")
    await done(home, named(2), "r2")
    await done(home, named(2), "r3")
    await begun(home.journal(), "r4", named(3))
    await done(home, f"{FOLDER}6b0", "r5")
    home.clock.advance(one_shots.KEPT_SECONDS - DAY)
    await done(home, named(4), "r6")
    home.clock.advance(2 * DAY)
    eraser = home.eraser()
    await eraser.forget()
    assert await there(home) == {named(2), named(3), named(4), f"{FOLDER}6b0"}
    await eraser.forget()
    assert len(await there(home)) == 4


async def test_of_very_many_the_latest_are_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_shots, "KEPT", 3)
    monkeypatch.setattr(one_shots, "AT_ONCE", 2)
    for number in range(8):
        home.clock.advance(1)
        await done(home, named(number), f"r{number}")
    await home.eraser().forget()
    assert await there(home) == {named(5), named(6), named(7)}


async def test_runs_are_found_by_words_of_their_session_or_their_failure(home: Home) -> None:
    await done(home, KEY, "r1")
    await done(home, named(7), "r2")
    records = home.records()
    (view,) = await runs_of(records).listed(session="", state="", limit=9, find="ONCE-0")
    assert view.id == "r2"
    assert await runs_of(records).listed(session=KEY, state="", limit=9, find="once") == []
    assert await runs_of(records).listed(session="", state="", limit=9, find="_") == []
