"""What the plugin adds to a gateway under test."""

from __future__ import annotations

from nanobot.plugins.common.erasing import Eraser
from nanobot.plugins.erasure.operations import operations
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.testing.gateway import Brought, FakeGateway, Options


def erasing(bot: FakeGateway) -> Brought:
    """The eraser of its store, and the operations over it."""
    eraser = SqlEraser(bot.process, bot.process.writer)
    return Brought(operations=tuple(operations()), offers={Eraser: eraser})


ERASING = Options(brings=erasing)
