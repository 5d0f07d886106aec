"""Gateways over fakes with the operations of the plugin."""

from __future__ import annotations

from typing import Any

from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Operation
from nanobot.plugins.conversations.operations import operations
from nanobot.testing.gateway import Brought, FakeGateway, Options

EVERY: tuple[Operation, ...] = (*OPERATIONS, *operations())
READING = Options(brings=lambda _: Brought(operations=tuple(operations())))


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    """What an operation gives its owner, also over a gateway whose chats do not have it."""
    return await Dispatcher(bot.engine, EVERY, bot.offers).call(operation, arguments)
