"""A start with a backlog: thousands of chats wait, and the owner writes."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import sqlalchemy as sa

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import Stage, Subject
from nanobot.messages import Address, InboundMessage, Origin, Role, Sender
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.session.chain import GENESIS
from nanobot.store.database import schema
from nanobot.store.opening import contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock

CHANNEL = "telegram"
WRITES = 1
FIRST = 1_000_000
MODEL_SECONDS = 0.05


async def backlog(stage: Stage, subject: Subject) -> Sample:
    """A start with one waiting message in each of 10,000 chats and a model of 50 ms: seconds to the
    first poll, and from there to the answer to a new message.

    Lanes of owners, what came since the start and the backlog take turns.
    """
    home = stage.home()
    await _wait_in(home, stage.effort.backlog)
    async with stage.starting(subject, home, MODEL_SECONDS) as gateway:
        talk = await stage.converse([WRITES], 1, others=True)
        polled = await stage.first_poll(gateway)
        return {"answer": talk.spans[0][1] - gateway.began - polled, "poll": polled}


async def _wait_in(home: Path, chats: int) -> None:
    store = open_store(
        home,
        "",
        contexts(SystemClock(), RandomIds(), store_hooks()),
        command="benchmarks",
        crash="",
    )
    try:
        await store.database.transact(lambda connection: _insert(connection, chats))
    finally:
        await store.close()


def _insert(connection: sa.Connection, chats: int) -> None:
    now = time.time()
    ids = [str(FIRST + number) for number in range(chats)]
    sessions = [
        {"key": f"{CHANNEL}:{chat}", "created_at": now, "updated_at": now, "head_hash": GENESIS}
        for chat in ids
    ]
    connection.execute(sa.insert(schema.sessions), sessions)
    connection.execute(sa.insert(schema.inbound), [_message(chat, now) for chat in ids])


def _message(chat: str, now: float) -> dict[str, object]:
    message = InboundMessage(
        address=Address(CHANNEL, chat),
        message_id=chat,
        dedupe_key=chat,
        sender=Sender(chat),
        text="Is it so?",
        sent_at=now,
    )
    return {
        "session_key": f"{CHANNEL}:{chat}",
        "channel": CHANNEL,
        "chat_id": chat,
        "dedupe_key": chat,
        "sender_id": chat,
        "role": Role.MEMBER,
        "origin": Origin.USER,
        "state": "pending",
        "at": now,
        "body": msgspec.json.encode(message),
    }


BACKLOG = Scenario(
    "backlog",
    (
        Measure("answer", "first poll to the answer of who writes then", "s"),
        Measure("poll", "start to first poll", "s"),
    ),
    backlog,
    subjects=(Subject.NANOBOT,),
    once=True,
)
