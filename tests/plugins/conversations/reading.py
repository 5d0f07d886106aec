"""Gateways over fakes with the operations of the plugin."""

from __future__ import annotations

from typing import Any

from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Operation
from nanobot.plugins.conversations.lists import ConversationList
from nanobot.plugins.conversations.operations import operations
from nanobot.plugins.conversations.store import SqlConversationList
from nanobot.store.opening import Store
from nanobot.testing.gateway import Brought, FakeGateway, Options

EVERY: tuple[Operation, ...] = (*OPERATIONS, *operations())


def listing(bot: FakeGateway) -> SqlConversationList:
    """The list of conversations over its store."""
    return SqlConversationList(bot.process, bot.process.writer)


def offers(bot: FakeGateway) -> dict[Any, Any]:
    """What the operations ask for."""
    return {ConversationList: listing(bot), Store: Store(bot.process, bot.process.writer, None)}


READING = Options(brings=lambda bot: Brought(operations=tuple(operations()), offers=offers(bot)))


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    """What an operation gives its owner, also over a gateway whose chats do not have it."""
    return await Dispatcher(bot.engine, EVERY, bot.offers.with_these(offers(bot))).call(
        operation, arguments
    )
