"""A caller that is cancelled right after its commit leaves nothing lying until the next message."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Coroutine
from contextlib import closing
from typing import Any

import pytest

from nanobot.messages import Address, InboundMessage, OutboundKind, OutboundMessage, Role, Sender
from nanobot.session.inbox import Admission
from tests.server.housing import House

PATIENCE = 10.0
CHAT = Address("web", "desk")
SESSION = "web:desk"


def _committed(house: House, table: str) -> bool:
    with closing(sqlite3.connect(house.home / "state.db")) as reader:
        return bool(reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


async def _cancelled_after_commit(house: House, table: str, work: Coroutine[Any, Any, Any]) -> None:
    """The loop is held up until the store's thread has committed: the caller hears only of its own
    cancellation."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    ends = time.monotonic() + PATIENCE
    while not _committed(house, table):
        assert time.monotonic() < ends
        time.sleep(0.001)  # noqa: ASYNC251 - on purpose: the loop must not turn
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def _message(text: str) -> Admission:
    message = InboundMessage(
        address=CHAT, message_id="1", dedupe_key="1", sender=Sender("local"), text=text, sent_at=1.0
    )
    return Admission(message=message, session_key=SESSION, role=Role.OWNER)


async def _until(house: House, table: str, condition: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not _committed(house, f"{table} WHERE {condition}"):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.01)


async def test_a_message_admitted_by_a_cancelled_caller_is_answered(served: House) -> None:
    bus = served.parts.engine.bus
    await _cancelled_after_commit(served, "inbound", bus.admit("web", [_message("anybody there?")]))
    await _until(served, "runs", "state = 'completed'")


def _post(key: str) -> OutboundMessage:
    return OutboundMessage(address=CHAT, text="done", kind=OutboundKind.POST, key=key)


async def test_a_post_by_a_cancelled_caller_is_delivered(served: House) -> None:
    bus = served.parts.engine.bus
    await bus.journal.post(SESSION, _post("first"))
    bus.owed(CHAT)
    await _until(served, "outbound", "state = 'sent'")  # what was owed at the start has been read
    post = bus.journal.post(SESSION, _post("second"))
    await _cancelled_after_commit(served, "outbound WHERE key = 'second'", post)
    await _until(served, "outbound", "key = 'second' AND state = 'sent'")
