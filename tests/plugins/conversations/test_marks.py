"""Keeping conversations in order, as people ask for it."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.errors import NanobotError, NotAllowed, UnknownId
from nanobot.messages import Address, Role
from nanobot.operations.operation import Caller
from nanobot.plugins.conversations.operations import operations
from nanobot.plugins.cron.operations import operations as of_jobs
from nanobot.plugins.erasure.operations import operations as of_erasure
from nanobot.plugins.runs.operations import operations as of_runs
from nanobot.plugins.search.operations import operations as of_search
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from tests.operations.test_stored import talk
from tests.plugins.conversations.reading import EVERY, READING, call, offers

BOTH = Options(
    brings=lambda bot: Brought(operations=(*operations(), *of_runs()), offers=offers(bot))
)
MARKS = ("rename", "pin", "unpin", "archive", "unarchive")


def caller(role: Role, session: str, *, private: bool = True) -> Caller:
    address = Address("fake", session.partition(":")[2])
    return Caller(role=role, session_key=session, by="x", address=address, private=private)


async def ask(bot: FakeGateway, name: str, who: Caller, **arguments: Any) -> Any:
    return await bot.operations.call(name, arguments, who)


async def test_a_conversation_is_named_pinned_and_archived() -> None:
    async with gateway(options=READING) as bot:
        await talk(bot, "one", chat="1")
        await talk(bot, "two", chat="2")
        assert (
            await call(bot, "sessions rename", session="fake:1", title=" My  plan ")
        ).title == "My plan"
        assert (await call(bot, "sessions pin", session="fake:1")).pinned
        assert [row.key for row in await call(bot, "sessions list")] == ["fake:1", "fake:2"]
        assert not (await call(bot, "sessions unpin", session="fake:1")).pinned
        assert (await call(bot, "sessions archive", session="fake:2")).archived
        assert [row.key for row in await call(bot, "sessions list")] == ["fake:1"]
        (row,) = await call(bot, "sessions list", archived=True)
        assert row.key == "fake:2"
        assert not (await call(bot, "sessions unarchive", session="fake:2")).archived
        await call(bot, "sessions archive", session="fake:2")
        bot.home.clock.advance(1)  # type: ignore[attr-defined]
        await talk(bot, "again", chat="2")
        assert [row.key for row in await call(bot, "sessions list")] == ["fake:2", "fake:1"]


async def test_lists_in_chats_show_titles_and_what_runs_were_about() -> None:
    async with gateway(options=BOTH) as bot:
        await talk(bot, "Where is the station? I am late.")
        assert "Where is the station?" in (await talk(bot, "/sessions"))[0]
        assert "Where is the station?" in (await talk(bot, "/runs"))[0]
        await talk(bot, "/sessions rename Trains to Rome")
        assert "Trains to Rome" in (await talk(bot, "/sessions"))[0]


@pytest.mark.parametrize("name", MARKS)
async def test_nobody_changes_a_conversation_that_is_not_there_or_not_theirs(name: str) -> None:
    async with gateway(options=READING) as bot:
        await talk(bot, "one", chat="1")
        with pytest.raises(UnknownId, match="There is no session fake:9"):
            await call(bot, f"sessions {name}", session="fake:9")
        with pytest.raises(NotAllowed):
            await ask(bot, f"sessions {name}", caller(Role.MEMBER, "fake:2"), session="fake:1")
        with pytest.raises(NanobotError):
            await ask(bot, f"sessions {name}", caller(Role.GUEST, "fake:1"))
        await ask(bot, f"sessions {name}", caller(Role.MEMBER, "fake:1"))


def test_every_operation_for_others_that_names_a_session_is_checked() -> None:
    """Those with a session of their own choosing ask `visible_sessions` (see tests/plugins/search)
    or `check_sight` (see tests/server/test_roles.py)."""
    own_choice = {
        operation.name
        for operation in (*EVERY, *of_jobs(), *of_erasure(), *of_search(), *of_runs())
        if operation.role is not Role.OWNER
        for parameter in operation.parameters
        if parameter.name == "session" and not parameter.session
    }
    assert own_choice == {"search", "runs list", "sessions delete"}
