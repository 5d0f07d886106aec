"""Searching what was said, as people ask for it."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.messages import Address, Role
from nanobot.operations.operation import Caller
from nanobot.plugins.conversations.operations import operations as of_conversations
from nanobot.plugins.search.hits import Search
from nanobot.plugins.search.operations import operations
from nanobot.plugins.search.store.indexing import LogIndexing
from nanobot.plugins.search.store.log_search import LogSearch
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from tests.operations.test_stored import talk
from tests.plugins.conversations.reading import offers


def searching(bot: FakeGateway) -> Brought:
    """What the plugin adds."""
    search = LogSearch(bot.process, bot.process.writer, str)
    return Brought(
        operations=(*operations(), *of_conversations()), offers={Search: search, **offers(bot)}
    )


SEARCHING = Options(brings=searching)


async def indexed(bot: FakeGateway) -> None:
    await LogIndexing(bot.process, bot.process.writer, str).index()


def caller(role: Role, session: str, *, private: bool = True) -> Caller:
    address = Address("fake", session.partition(":")[2])
    return Caller(role=role, session_key=session, by="x", address=address, private=private)


async def ask(bot: FakeGateway, name: str, who: Caller, **arguments: Any) -> Any:
    return await bot.operations.call(name, arguments, who)


async def call(bot: FakeGateway, name: str, /, **arguments: Any) -> Any:
    return await bot.operations.call(name, arguments)


async def test_search_in_a_chat_shows_where_when_and_the_sentence() -> None:
    async with gateway(options=SEARCHING) as bot:
        await talk(bot, "Hello there", "The lighthouse is closed on Mondays. Pity.")
        await indexed(bot)
        (answer,) = await talk(bot, "/search lighthouse closed")
        assert "Hello there (`fake:1`)" in answer
        assert "The **lighthouse** is closed on Mondays." in answer
        assert "nanobot: echo: The **lighthouse**" in answer
        assert (await talk(bot, "/search absent")) == ["No message contains these words."]


@pytest.mark.parametrize("role", [Role.MEMBER, Role.GUEST])
async def test_others_find_only_their_own_conversation(role: Role) -> None:
    async with gateway(options=SEARCHING) as bot:
        await talk(bot, "my apple", chat="1")
        await talk(bot, "your apple", chat="2")
        await indexed(bot)
        mine = caller(role, "fake:2")
        assert {hit.session_key for hit in await ask(bot, "search", mine, find="apple")} == {
            "fake:2"
        }
        assert await ask(bot, "search", mine, find="apple", session="fake:1") == []
        everything = await call(bot, "search", find="apple")
        assert {hit.session_key for hit in everything} == {"fake:1", "fake:2"}


async def test_in_a_group_an_owner_finds_only_what_the_group_said() -> None:
    async with gateway(options=SEARCHING) as bot:
        await talk(bot, "my apple", chat="1")
        await talk(bot, "our apple", chat="2")
        await indexed(bot)
        group = caller(Role.OWNER, "fake:2", private=False)
        assert {hit.session_key for hit in await ask(bot, "search", group, find="apple")} == {
            "fake:2"
        }
        assert [row.key for row in await ask(bot, "sessions list", group)] == ["fake:2"]


async def test_pages_of_hits_follow_each_other() -> None:
    async with gateway(options=SEARCHING) as bot:
        await talk(bot, *(f"apple {number}" for number in range(5)))
        await indexed(bot)
        first = await call(bot, "search", find="apple", limit=4)
        second = await call(bot, "search", find="apple", limit=100, before=first[-1].id)
        assert len(first) + len(second) == 10
        assert len({hit.id for hit in [*first, *second]}) == 10
