"""Conversations are deleted by an operation, with everything of them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import sqlalchemy as sa

from nanobot.errors import NanobotError, UsageError
from nanobot.forgetting import forgettable
from nanobot.store.database import schema
from nanobot.store.journal import log
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import Held, ScriptedProvider
from tests.agent.conftest import held as held
from tests.plugins.erasure.erasers import ERASING
from tests.store.making import answered, begun


async def delete(bot: FakeGateway, session: str) -> Any:
    return await bot.operations.call("sessions delete", {"session": session})


async def talk(bot: FakeGateway, text: str, chat: str = "1") -> list[str]:
    await bot.channel.push(text, chat=chat)
    answers = [(await bot.channel.pop(chat)).text]
    await bot.settle()
    return answers


async def test_a_session_that_is_not_there_cannot_be_deleted() -> None:
    async with gateway(options=ERASING) as bot:
        with pytest.raises(NanobotError, match="There is no session fake:9"):
            await delete(bot, "fake:9")


async def test_a_session_whose_key_cannot_be_typed_is_deleted_by_what_a_list_shows() -> None:
    async with gateway(options=ERASING) as bot:
        claimed = await begun(bot.journal, "r1", "fake:1\0x")
        await answered(bot.journal, claimed, "hello")
        bot.journal.let_go(claimed.lane)
        gone = await delete(bot, "fake:1<U+0000>x")
        assert (gone.key, gone.entries) == ("fake:1\0x", 2)
        assert bot.home.entries("fake:1\0x") == []


async def test_a_deleted_session_leaves_nothing_but_the_keys_of_what_arrived() -> None:
    async with gateway(options=ERASING) as bot:
        await bot.channel.push("my secret", key="k1")
        await bot.channel.pop()
        await talk(bot, "other", chat="2")
        gone = await delete(bot, "fake:1")
        assert (gone.key, gone.entries) == ("fake:1", 4)
        columns = [schema.sessions.c.key]
        columns += [t.c.session_key for t in (schema.entries, schema.runs, schema.outbound)]
        for column in columns:
            query = sa.select(column)
            keys = bot.home.do(lambda c, query=query: set(c.scalars(query)))  # type: ignore[misc]
            assert keys == {"fake:2"}, column.table.name
        stored = bot.home.do(lambda c: c.scalars(sa.select(schema.inbound.c.body)).all())
        assert not any(b"secret" in body for body in stored)
        await bot.channel.push("my secret", key="k1")
        await bot.settle()
        assert len(bot.channel.sent) == 2
        assert await talk(bot, "again") == ["echo: again"]
        assert bot.home.verify("fake:1") == 4


async def test_a_session_is_not_deleted_under_its_run(held: Held) -> None:
    async with gateway(ScriptedProvider(held), options=ERASING) as bot:
        await bot.channel.push("hang")
        await held.reached.wait()
        with pytest.raises(UsageError, match="is alive in fake:1: cancel it first"):
            await delete(bot, "fake:1")
        held.answer("done")
        assert (await bot.channel.pop()).text == "done"


async def test_nothing_in_memory_keeps_what_was_erased() -> None:
    kept: OrderedDict[str, str] = forgettable(OrderedDict(page="my secret"))
    async with gateway(options=ERASING) as bot:
        await talk(bot, "my secret")
        await talk(bot, "and now?")
        assert log.decode_short.cache_info().currsize
        await delete(bot, "fake:1")
        assert not log.decode_short.cache_info().currsize
        assert not kept
