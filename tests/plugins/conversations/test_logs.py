"""Conversations are listed, shown and exported."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from nanobot.errors import NanobotError, UsageError
from nanobot.plugins.common.views.sessions import SessionPage
from nanobot.testing import gateway
from nanobot.testing.machine import ManualClock
from tests.operations.test_stored import talk
from tests.plugins.conversations.reading import READING, call
from tests.stored import choosing


async def test_sessions_are_listed_by_their_last_change_with_what_is_unread() -> None:
    async with gateway() as bot:
        await talk(bot, "first")
        await choosing(bot.journal).set_model("late", None)
        await bot.settle()
        listed = await call(bot, "sessions list")
        assert {(session.key, session.title, session.has_unread) for session in listed} == {
            ("fake:1", "first", False),
            ("late", "", True),
        }
        assert [session.key for session in await call(bot, "sessions list", unread=True)] == [
            "late"
        ]
        read = await call(bot, "sessions mark-read", session="late")
        assert not read.has_unread
        assert await call(bot, "sessions list", unread=True) == []
        assert len(await call(bot, "sessions list", limit=1)) == 1


async def test_a_session_is_shown_with_the_end_of_its_log_and_exported_whole() -> None:
    async with gateway(options=READING) as bot:
        await talk(bot, "hello")
        page: SessionPage = await call(bot, "sessions show", session="fake:1", limit=2)
        assert [entry.kind for entry in page.entries] == ["model_call", "reply"]
        whole: SessionPage = await call(bot, "sessions export", session="fake:1")
        assert [entry.seq for entry in whole.entries] == [1, 2, 3, 4]
        assert whole.entries[0].body is not None
        assert whole.entries[0].body["text"] == "hello"
        rest: SessionPage = await call(bot, "sessions export", session="fake:1", after=3)
        assert [entry.seq for entry in rest.entries] == [4]
        text = (await talk(bot, "/sessions show"))[0]
        assert "Key: fake:1" in text
        assert "user: hello" in text
        assert "reply: echo: hello" in text


async def test_a_session_is_shown_as_it_was_at_an_entry_or_a_time() -> None:
    async with gateway() as bot:
        clock = bot.home.clock
        assert isinstance(clock, ManualClock)
        began = clock.now()
        await talk(bot, "hello")
        clock.advance(3_600.0)
        await talk(bot, "later")
        between = datetime.fromtimestamp(began + 1_800, UTC).isoformat()
        for at in ("4", between):
            page: SessionPage = await call(bot, "sessions show", session="fake:1", at=at)
            assert [entry.seq for entry in page.entries] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"at": "99"}, "entries 1 to 4, not 99"),
        ({"at": "0"}, "entries 1 to 4, not 0"),
        ({"at": "1999-01-01"}, "had no entries yet"),
        ({"at": "yesterday-ish"}, "is not a time"),
        ({"at": "2", "before": 3}, "either --at"),
    ],
)
async def test_a_moment_that_the_log_does_not_have_is_refused(
    options: dict[str, Any], why: str
) -> None:
    async with gateway() as bot:
        await talk(bot, "hello")
        with pytest.raises(UsageError, match=why):
            await call(bot, "sessions show", session="fake:1", **options)


@pytest.mark.parametrize("name", ["show", "read", "export"])
async def test_a_session_that_is_not_there_is_said_to_be_missing(name: str) -> None:
    async with gateway() as bot:
        with pytest.raises(NanobotError, match="There is no session fake:9"):
            await call(bot, f"sessions {name}", session="fake:9")
