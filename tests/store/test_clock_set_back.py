"""A clock set back by a day: what waits further ahead than it ever has to is done at once."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.messages import Address, InboundMessage, Sender
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.jobs.rules import RETRIES
from nanobot.plugins.voice import tables as voice_tables
from nanobot.plugins.voice.store import _is_due
from nanobot.store.database import schema
from nanobot.store.journal.inbox import MOST_HELD_SECONDS, held_yet
from nanobot.testing.gateway import MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import OWNER
from tests.plugins.cron.scheduling import gateway

BEGIN = 1_800_000_000.0
DAY = 86_400.0


class Wound(ManualClock):
    """A clock that somebody sets back; what elapses is not changed by it."""

    def __init__(self) -> None:
        super().__init__(BEGIN)
        self.back = 0.0

    def now(self) -> float:
        return super().now() - self.back


@pytest.mark.parametrize("held", [0.5, 3.0, 300.0])
def test_a_message_is_held_no_longer_than_at_first(held: float) -> None:
    assert held_yet(BEGIN + held, BEGIN, BEGIN) == held
    assert held_yet(BEGIN + held, BEGIN, BEGIN + held / 2) == pytest.approx(held / 2)
    assert held_yet(BEGIN + held, BEGIN, BEGIN - DAY) == 0.0
    assert held_yet(0.0, BEGIN, BEGIN - DAY) == 0.0


async def test_a_held_message_is_ready_after_the_clock_was_set_back() -> None:
    clock = Wound()
    async with MemoryHome(clock) as home, gateway(home=home) as bot:
        bot.crash()
        home.do(
            lambda c: c.execute(
                sa.insert(schema.inbound).values(**_waiting(clock.now(), MOST_HELD_SECONDS))
            )
        )
        clock.back = DAY
        async with gateway(home=home) as again:
            (lane,) = await again.process.journal.ready()
            assert lane.held == 0.0


def _waiting(at: float, held: float) -> dict[str, object]:
    address = Address("fake", "1")
    message = InboundMessage(
        address=address,
        message_id="1",
        dedupe_key="1",
        sender=Sender(OWNER),
        text="hi",
        sent_at=at,
    )
    return {
        "session_key": "fake:1",
        "channel": "fake",
        "chat_id": "1",
        "dedupe_key": "1",
        "sender_id": OWNER,
        "role": "owner",
        "origin": "user",
        "state": "pending",
        "at": at,
        "not_before": at + held,
        "awaiting_files": False,
        "body": msgspec.json.encode(message),
    }


async def test_a_failed_job_is_tried_again_at_once() -> None:
    clock = Wound()
    async with MemoryHome(clock) as home, gateway(ScriptedProvider(), home=home) as bot:
        await bot.channel.push("/cron add every 2 hours Look", sender=OWNER)
        await bot.channel.pop()
        row = {
            "job_id": 1,
            "scheduled_at": clock.now(),
            "status": "waiting",
            "session_key": "jobs:1",
            "retry_at": clock.now() + RETRIES.longest,
            "fired_at": clock.now(),
            "body": b'"Look"',
        }
        home.do(lambda c: c.execute(sa.insert(job_tables.occurrences).values(**row)))
        query = sa.text("SELECT status FROM occurrences")
        await bot.cron.fire()
        assert home.do(lambda c: c.scalar(query)) == "waiting"
        clock.back = DAY
        await bot.cron.fire()
        await bot.settle()
        assert home.do(lambda c: c.scalar(query)) != "waiting"


async def test_an_answer_that_somebody_took_is_free_again() -> None:
    clock = Wound()
    async with MemoryHome(clock) as home, gateway(home=home):
        table = voice_tables.voice_answers
        row = {"key": "k", "run_id": "r", "at": BEGIN, "not_before": BEGIN + 300.0}
        home.do(lambda c: c.execute(sa.insert(table).values(**row)))
        for back, due in ((0.0, False), (DAY, True), (-600.0, True)):
            now = sa.literal(BEGIN - back)
            query = sa.select(table.c.key).where(_is_due(now))
            assert (home.do(partial(_scalar, query=query)) == "k") is due


def _scalar(connection: sa.Connection, query: sa.Select[Any]) -> Any:
    return connection.scalar(query)


# Where a time to come is stored, and what keeps it from being too far ahead.
_BOUNDED = {
    "inbound.not_before": "inbox.held_yet and inbox.hold",
    "tasks.not_before": "tasks.waits: at most the delay that was asked for",
    "outbound.not_before": "chat_delivery: at most 60 s of what another process wrote",
    "voice_answers.not_before": "voice_answers._is_due",
    "occurrences.retry_at": "occurrences.to_retry",
    "sessions.lease_until": "lanes.in_use",
    "channel_leases.until": "channel_leases.hold",
    "jobs.next_at": "jobs.realign, after each start and each clock that was set back",
    "jobs.next_due": "as next_at",
}
_PROMISED = {
    "pairings.expires_at": "a person was told until when",
    "access_tokens.expires_at": "a person was told until when",
    "tasks.deadline": "the end of a run that asked for one",
}


def test_every_stored_time_to_come_is_bounded_or_promised() -> None:
    """A new column of that kind has to be put into one of the two tables above."""
    ahead = re.compile(r"not_before|until|retry|next_|expires|deadline|due")
    found = {
        f"{table.name}.{column.name}"
        for table in schema.metadata().tables.values()
        for column in table.columns
        if isinstance(column.type, sa.Double) and ahead.search(column.name)
    }
    assert found == set(_BOUNDED) | set(_PROMISED)
