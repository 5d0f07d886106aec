"""What was said beside the log stays to be read: commands with their answers."""

from __future__ import annotations

from typing import Any

from nanobot.plugins.common.store.notices import LOOKED_THROUGH
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from tests.operations.test_stored import talk
from tests.plugins.conversations.reading import call


async def notices(bot: FakeGateway, session: str = "fake:1", **more: Any) -> list[tuple[str, str]]:
    rows = await call(bot, "sessions notices", session=session, **more)
    return [(row.said, row.text.split("\n")[0]) for row in rows]


async def test_commands_are_listed_with_their_answers_and_nothing_that_the_log_has() -> None:
    async with gateway() as bot:
        await talk(bot, "hello", "/status", "/nosuchthing")
        (unknown, status) = await notices(bot)
        assert unknown[0] == "/nosuchthing"
        assert unknown[1].startswith("There is no /nosuchthing")
        assert status[0] == "/status"
        assert status[1].startswith("Model:")


async def test_each_conversation_has_its_own_also_before_it_has_a_log(bot: FakeGateway) -> None:
    await talk(bot, "/status", chat="7")
    assert await notices(bot) == []
    assert [command for command, _ in await notices(bot, "fake:7")] == ["/status"]


async def test_only_the_latest_are_listed_and_those_after_a_time(bot: FakeGateway) -> None:
    await talk(bot, "/status", "/help")
    assert [command for command, _ in await notices(bot, limit=1)] == ["/help"]
    later = bot.engine.now() + 1
    assert await notices(bot, since=later) == []
    assert LOOKED_THROUGH >= 1_000


async def test_names_with_colons_and_names_of_no_conversation_list_nothing() -> None:
    async with gateway() as bot:
        for name in ("matrix:!room:server:@anna", "web:a:b", "nothing", "x" * 300 + ":" * 90):
            assert await notices(bot, name) == []
