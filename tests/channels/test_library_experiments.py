"""What the platforms' libraries do by themselves: why the adapters receive in their own loops.

These are the experiments of docs/adr/0006-telegram-library.md. Where one fails after an update of
the library, its reason is gone and the decision can be looked at again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from telegram import Update
from telegram.ext import ApplicationBuilder, ContextTypes, MessageHandler, filters

from tests.doubles.telegram_server import TelegramServer

# What the library warns of itself on newer Pythons is no concern of these tests.
pytestmark = pytest.mark.filterwarnings("default")

READABLE = {
    "update_id": 51,
    "message": {
        "message_id": 10,
        "date": 1,
        "chat": {"id": 1, "type": "private"},
        "from": {"id": 1, "is_bot": False, "first_name": "Ann"},
        "text": "hello",
    },
}
MALFORMED = {**READABLE, "update_id": 50, "message": {**READABLE["message"], "from": {"id": 1}}}  # type: ignore[dict-item]


@asynccontextmanager
async def polled(server: TelegramServer, handle: Any) -> AsyncIterator[None]:
    """The library's own Application and Updater over this server."""
    app = ApplicationBuilder().token(server.token).base_url(f"{server.root_url}/bot").build()
    app.add_handler(MessageHandler(filters.ALL, handle))
    await app.initialize()
    assert app.updater is not None
    await app.updater.start_polling(timeout=1)
    await app.start()
    try:
        yield
    finally:
        await app.updater.stop()
        await app.stop()
        await app.shutdown()


def offsets(server: TelegramServer) -> list[int]:
    return [int(call.params.get("offset") or 0) for call in server.calls_of("getUpdates")]


@pytest.mark.process
async def test_its_updater_acknowledges_a_message_before_the_handler_has_ended() -> None:
    begun, ending, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handle(_: Update, __: ContextTypes.DEFAULT_TYPE) -> None:
        begun.set()
        await ending.wait()
        ended.set()

    async with TelegramServer() as server, polled(server, handle):
        server.say(1, "hello")
        async with asyncio.timeout(10):
            await begun.wait()
            await server.until(lambda: max(offsets(server)) > 0)
        assert not ended.is_set()
        ending.set()


async def test_its_updater_asks_for_a_malformed_update_again_and_again() -> None:
    handled: list[Update] = []

    async def handle(update: Update, _: ContextTypes.DEFAULT_TYPE) -> None:
        handled.append(update)

    batch = json.dumps({"ok": True, "result": [MALFORMED, READABLE]}).encode()
    async with TelegramServer() as server:
        server.fail("getUpdates", body=batch, status=200)
        async with polled(server, handle):
            await server.called("getUpdates", 3)
            assert set(offsets(server)) == {0}
            assert handled == []
            server.heal()  # it asks once more when it is stopped
