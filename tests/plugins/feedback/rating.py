"""Gateways over fakes whose people can rate answers and see the ratings."""

from __future__ import annotations

from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Operation
from nanobot.plugins.feedback.operations import operations
from nanobot.plugins.runs.operations import operations as of_runs
from nanobot.store.opening import Store
from nanobot.testing.gateway import Brought, FakeGateway, Options

EVERY: tuple[Operation, ...] = (*OPERATIONS, *of_runs(), *operations())


def brings(bot: FakeGateway) -> Brought:
    """The operations, and the store that they ask for."""
    store = Store(bot.process, bot.process.writer, None)
    return Brought(operations=(*of_runs(), *operations()), offers={Store: store})


RATING = Options(brings=brings)


def desk(bot: FakeGateway) -> Dispatcher:
    """The operations over such a gateway."""
    return Dispatcher(bot.engine, EVERY, bot.offers)
