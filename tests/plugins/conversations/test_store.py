"""Titles, pins and archives: what people set is kept, and what is new brings a session back."""

from __future__ import annotations

from nanobot.plugins.conversations.lists import Filter
from tests.store.home import Home
from tests.store.making import KEY, begun, told
from tests.store.test_titles import OTHER, begin, title
from tests.stored import lists_of


async def listed(home: Home, *, archived: bool = False, find: str = "") -> list[str]:
    which = Filter(archived=archived, find=find)
    return [row.key for row in await home.conversations().listed(which, limit=10)]


async def test_a_person_s_title_is_kept_and_an_empty_one_gives_the_first_again(home: Home) -> None:
    conversations = home.conversations()
    await begin(home, "Where is the station? Quick.")
    assert await conversations.rename(KEY, "Trains")
    await begin(home, "More.", run="r2")
    assert await title(home) == "Trains"
    assert await conversations.rename(KEY, "")
    assert await title(home) == "Where is the station?"
    assert not await conversations.rename("telegram:404", "x")


async def test_pinned_sessions_come_first(home: Home) -> None:
    await begin(home, "one", KEY, "r1")
    await begin(home, "two", OTHER, "r2")
    assert await listed(home) == [OTHER, KEY]
    assert await home.conversations().pin(KEY, pinned=True)
    assert await listed(home) == [KEY, OTHER]
    assert await home.conversations().pin(KEY, pinned=False)
    assert await listed(home) == [OTHER, KEY]
    assert not await home.conversations().pin("telegram:404", pinned=True)


async def test_an_archived_session_comes_back_when_something_new_is_said(home: Home) -> None:
    conversations = home.conversations()
    await begin(home, "one", KEY, "r1")
    await begin(home, "two", OTHER, "r2")
    assert await conversations.archive(KEY, archived=True)
    assert await listed(home) == [OTHER]
    assert await listed(home, find="one") == []
    assert await listed(home, archived=True) == [KEY]
    assert await listed(home, archived=True, find="one") == [KEY]
    row = await lists_of(home.records()).one(KEY)
    assert row is not None
    assert row.archived
    home.clock.advance(-10_000)  # whatever the clock says
    await begun(home.journal(), "r3")
    assert set(await listed(home)) == {KEY, OTHER}
    await conversations.archive(OTHER, archived=True)
    await home.journal().post(OTHER, told("By the way", "p"))
    assert set(await listed(home)) == {KEY, OTHER}
    assert not await conversations.archive("telegram:404", archived=True)


async def test_marks_go_with_their_session(home: Home) -> None:
    await begin(home, "one")
    await home.conversations().pin(KEY, pinned=True)
    await home.eraser().delete(KEY)
    assert await home.rows("SELECT * FROM session_marks") == []
