"""The chains of the logs in a store."""

from __future__ import annotations

from typing import Any

import pytest

from nanobot.errors import StoreCorrupt, UsageError
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.proof.commands import operations
from nanobot.store.database import schema
from nanobot.store.opening import Store
from nanobot.testing.gateway import FakeGateway
from tests.agent.conftest import bot

__all__ = ["bot"]


async def talk(bot: FakeGateway, text: str) -> None:
    await bot.channel.push(text)
    await bot.channel.pop()
    await bot.settle()


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    offers = bot.offers.with_these({Store: Store(bot.process, bot.process.writer, None)})
    return await Dispatcher(bot.engine, operations(), offers).call(operation, arguments)


async def test_a_head_noted_earlier_proves_that_nothing_was_cut(bot: FakeGateway) -> None:
    await talk(bot, "one")
    (noted,) = await call(bot, "audit verify")
    await talk(bot, "two")
    (now,) = await call(bot, "audit verify", head=noted.head)
    assert now.entries == 7
    with pytest.raises(StoreCorrupt, match="no log contains the head"):
        await call(bot, "audit verify", head="00" * 31 + "01")
    with pytest.raises(UsageError, match="is not a head"):
        await call(bot, "audit verify", head="xyz")
    with pytest.raises(UsageError, match="no session"):
        await call(bot, "audit verify", session="fake:9")


async def test_a_changed_entry_is_found(bot: FakeGateway) -> None:
    await talk(bot, "one")
    changed = schema.entries.update().where(schema.entries.c.seq == 1)
    bot.home.do(lambda c: c.execute(changed.values(payload=b"{}")))
    with pytest.raises(StoreCorrupt, match="entry 1 of fake:1"):
        await call(bot, "audit verify")
