"""Gateways over fakes with the operations of the plugin."""

from __future__ import annotations

from typing import Any

from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Caller, Operation
from nanobot.plugins.runs.operations import operations
from nanobot.store.opening import Store
from nanobot.testing.gateway import Brought, FakeGateway, Options

EVERY: tuple[Operation, ...] = (*OPERATIONS, *operations())
SIGHT = Options(brings=lambda _: Brought(operations=tuple(operations())))


def desk(bot: FakeGateway) -> Dispatcher:
    """The operations over a gateway, also over one whose chats do not have these."""
    store = Store(bot.process, bot.process.writer, None)
    return Dispatcher(bot.engine, EVERY, bot.offers.with_these({Store: store}))


async def call(bot: FakeGateway, operation: str, /, **arguments: Any) -> Any:
    """What an operation gives its owner."""
    return await desk(bot).call(operation, arguments)


async def ask(bot: FakeGateway, name: str, who: Caller, **arguments: Any) -> Any:
    """What an operation gives them."""
    return await desk(bot).call(name, arguments, who)
