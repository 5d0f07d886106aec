"""All that happens by itself, over one gateway that is killed again and again: once each."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.messages import Address, Origin, Role
from nanobot.plugins.common.jobs.plans import Job
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.store.trigger_state import SqlTriggerState
from nanobot.plugins.common.views.digests import DIGEST
from nanobot.plugins.cron.editing import JobRequest, Requester
from nanobot.plugins.cron.jobs import when
from nanobot.plugins.cron.schedule import coming
from nanobot.plugins.events.event_queue import EventOptions
from nanobot.plugins.events.sensor import SensorEvent
from nanobot.plugins.events.trigger import Events
from nanobot.plugins.hooks.service import webhooks_of
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.signatures import sign
from nanobot.plugins.hooks.webhook import Webhooks
from nanobot.plugins.jobs.plans import plan_of
from nanobot.plugins.jobs.store.absences import count_of
from nanobot.plugins.quiet.hours import QuietHours
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.plugins.quiet.store import limiter
from nanobot.providers.base import ModelRequest
from nanobot.store.database import schema
from nanobot.supervision import side_by_side
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider, last_text
from nanobot.testing.platform import FakeChannel
from tests.plugins.cron.scheduling import editor_of, gateway
from tests.plugins.heartbeat.beating import at, configured, heart_and_publisher, wanted
from tests.sampling import examples

EVENING = at("2026-03-10T19:30")
ENDS = {"done", "failed", "skipped", "missed", "cancelled"}
HOOK = HookSettings(style="github", secret="hush", to="fake:1", prompt="hook {number}")
TERMS = EventOptions(host="box", zone="UTC", prompts={}, prompt="", per_hour=1_000)
ELSEWHERE = Requester(
    role=Role.OWNER, sender_id="1001", address=Address("fake", "9"), session_key="fake:9"
)
SCHEDULES = (("*/7 * * * *", False), ("every 11 minutes", True), ("+50m", False))
NIGHT = QuietSettings(max_per_hour=3, max_per_day=0, quiet_from="22:00", quiet_until="07:00")
UNLIMITED = QuietSettings(max_per_hour=0, max_per_day=0)


class Tally:
    """A thing on the machine of which there are more and more; each is told by its number."""

    name, every, kind = "tally", 5.0, int

    def __init__(self, world: Outside) -> None:
        self._world = world

    async def read(self, _: int | None) -> int:
        return self._world.things

    def judge(self, reading: int, state: int | None, now: float) -> tuple[SensorEvent | None, int]:
        fresh = " ".join(f"thing {number};" for number in range((state or 0) + 1, reading + 1))
        return (SensorEvent(at=now, text=fresh) if fresh else None), reading

    def seen(self, reading: int) -> str:
        return str(reading)

    async def close(self) -> None:
        """There is nothing to close."""


class Outside:
    """What goes on around the gateway: it sees all of its lives."""

    def __init__(self, workspace: Path, rng: random.Random) -> None:
        self.clock = ManualClock(EVENING, instant=False)
        self.home = MemoryHome(self.clock)
        self.channel = FakeChannel()
        self.rng = rng
        self.things = 0
        self.answers: dict[str, Counter[str]] = {}
        self.unheard: list[str] = []
        self.asked: list[str] = []
        self.jobs: list[Job] = []
        self._workspace = workspace

    def answer(self, request: ModelRequest) -> str:
        """Each of its own kind, so that it is known again."""
        self.asked.append(last_text(request))
        return f"answer{len(self.asked)}."

    @asynccontextmanager
    async def life(self, limits: QuietSettings) -> AsyncIterator[tuple[FakeGateway, Webhooks]]:
        """One process, with everything at work that makes it act by itself."""
        provider = ScriptedProvider(otherwise=self.answer)
        options = Options(quiet=limiter(QuietHours(limits)))
        async with gateway(provider, self.channel, home=self.home, options=options) as bot:
            process = bot.process
            config = configured(self._workspace, interval_seconds=600.0, active_seconds=0.0)
            triggers = {"heartbeat": heart_and_publisher(bot, config)}
            publisher = bot.cron.publisher(plan_of("events", "fake:1", Origin.EVENT, "UTC"))
            keeping = SqlTriggerState(process, process.writer)
            triggers["events"] = (
                Events([Tally(self)], TERMS, keeping, self.clock, publisher),
                publisher,
            )
            works = {name: partial(each.run, to) for name, (each, to) in triggers.items()}
            async with asyncio.TaskGroup() as tasks:
                running = [
                    tasks.create_task(side_by_side(works, self.clock)),
                    tasks.create_task(bot.cron.run()),
                ]
                yield bot, webhooks_of({"ci": HOOK}, bot.cron, "UTC", self.clock)
                bot.crash()
                for task in running:
                    task.cancel()

    async def begin(self) -> None:
        """A person opens the chat, and has jobs made that speak there."""
        async with self.life(UNLIMITED) as (bot, _):
            await self.channel.push("hello")
            await self.channel.pop()
            for schedule, send in SCHEDULES:
                wish = JobRequest(schedule=schedule, text=f"job {schedule}", send=send, to="fake:1")
                self.jobs.append(await editor_of(bot).add(ELSEWHERE, wish))

    async def killed(self) -> None:
        """One process that is killed right before or right after one of its commits."""
        left, after = self.rng.randrange(1, 150), self.rng.random() < 0.5
        async with self.life(NIGHT) as (bot, hooks):

            def reach(_verb: str) -> None:
                nonlocal left
                left -= 1
                bot.process.dead = bot.process.dead or left == 0

            if after:
                bot.process.after = reach
            else:
                bot.process.before = reach
            while not bot.process.dead:
                await self.happen(hooks)
                self.clock.advance(self.rng.choice([0.5, 5.0, 30.0, 120.0]))
                await bot.settle()
        self.clock.advance(self.rng.choice([0.0, 1.0, 90.0, 2_000.0]))

    async def happen(self, hooks: Webhooks) -> None:
        """Something, or nothing."""
        what = self.rng.randrange(4)
        if what == 0:
            self.things += 1
        elif what == 1:
            await self.deliver(hooks, f"d{len(self.answers)}")
        elif what == 2 and self.answers:
            await self.deliver(hooks, self.rng.choice(list(self.answers)))

    async def deliver(self, hooks: Webhooks, key: str) -> None:
        """As a service does that delivers again what was not taken."""
        body = json.dumps({"number": key}).encode()
        headers = sign(HOOK, body, at=0, key=key) | {"content-type": "application/json"}
        lower = {name.lower(): value for name, value in headers.items()}
        reply = await hooks.take("ci", lower, body)
        status = str(reply.body.get("status", reply.status))
        self.answers.setdefault(key, Counter())[status] += 1
        if status not in {"accepted", "known"}:
            self.unheard.append(key)

    async def calm(self) -> None:
        """A last process, which lives on and has no limits."""
        async with self.life(UNLIMITED) as (bot, hooks):
            for key in dict.fromkeys(self.unheard):
                await self.deliver(hooks, key)
            for _ in range(60):
                self.clock.advance(10.0)
                await bot.settle()
            for job in self.jobs[:2]:
                await editor_of(bot).pause(ELSEWHERE, str(job.id))
            (self._workspace / "HEARTBEAT.md").unlink()
            for _ in range(30):
                self.clock.advance(10.0)
                await bot.settle()

    def rows(self, table: sa.Table) -> list[Any]:
        return self.home.do(lambda c: list(c.execute(sa.select(table)).all()))


def everything_was_done_once(world: Outside, ended_at: float) -> None:
    """Every time and every delivery has one row with one end, and what came of it one post."""
    rows = world.rows(job_tables.occurrences)
    assert {row.status for row in rows} <= ENDS
    assert all(row.ended_at is not None for row in rows)
    for job in world.jobs:
        due = coming(when(job.plan), job.created_at, 20_000)
        expected = [time for time in due if time <= ended_at]
        had = []
        for row in (row for row in rows if row.job_id == job.id):
            first = due.index(row.scheduled_at)  # times that passed one after another are one row
            had += due[first : first + count_of(row.body)]
        had.sort()
        assert [time for time in had if time <= ended_at] == expected, job.plan.schedule
    keys = Counter(row.call_key for row in rows if row.call_key)
    for key, answers in world.answers.items():
        assert keys[f"hook:ci:{key}"] == 1
        assert answers["accepted"] <= 1
    assert set(keys.values()) <= {1}
    prompts = [text for text in _prompts(world) if "This happened on the machine" in text]
    numbers = [int(number) for text in prompts for number in re.findall(r"\bthing (\d+);", text)]
    assert sorted(numbers) == list(range(1, world.things + 1))
    posts = [row for row in world.rows(schema.outbound) if row.key.startswith("cron:")]
    assert len(posts) == len([row for row in rows if row.status == "done"])


def _prompts(world: Outside) -> list[str]:
    rows = [row for row in world.rows(schema.inbound) if row.origin == Origin.EVENT]
    return [json.loads(row.body)["text"] for row in rows]


def everything_arrived_once(world: Outside) -> None:
    """Whatever was said is in the chat, once; what was held back is in one digest."""
    rows = [row for row in world.rows(schema.outbound) if row.state != "direct"]
    assert {row.state for row in rows} <= {"sent", "digested"}
    texts = [message.text for message in world.channel.sent]
    unmarked = Counter(text for text in texts if REPEAT_LINE not in text)
    texts_sent = Counter(json.loads(row.body)["text"] for row in rows if row.state == "sent")
    assert not unmarked - texts_sent
    assert {text.removesuffix(REPEAT_LINE).rstrip() for text in texts} == set(texts_sent)
    digests = [row.key for row in rows if row.key.startswith(DIGEST)]
    spans = [tuple(map(int, key.removeprefix(DIGEST).split("-"))) for key in digests]
    for row in rows:
        if row.state == "digested":
            assert len([span for span in spans if span[0] <= row.id <= span[1]]) == 1


async def lives(workspace: Path, seed: int, most: int) -> None:
    """Several processes after each other, into the night, and one that ends what they began."""
    wanted(workspace)
    world = Outside(workspace, random.Random(seed))
    async with world.home:
        await world.begin()
        for _ in range(world.rng.randrange(2, most)):
            await world.killed()
        held = [row.key for row in world.rows(schema.outbound) if row.state == "held"]
        before = {row.key for row in world.rows(schema.outbound)}
        ended_at = world.clock.now()
        await world.calm()
        everything_was_done_once(world, ended_at)
        everything_arrived_once(world)
        states = {row.key: row.state for row in world.rows(schema.outbound)}
        fresh = [key for key in states if key.startswith(DIGEST) and key not in before]
        # What runs that were cut off still say may join what was held back.
        assert len(fresh) == 1 if len(held) > 1 else len(fresh) <= 1
        for key in {row.key for row in world.rows(schema.sessions)}:
            world.home.verify(key)


@pytest.mark.process
@settings(max_examples=2)
@given(st.integers(0, 2**32))
async def test_whatever_happens_by_itself_is_done_once_and_told_once(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    await lives(tmp_path_factory.mktemp("workspace"), seed, 3)


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(st.integers(0, 2**32))
async def test_whatever_happens_by_itself_over_many_lives(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    await lives(tmp_path_factory.mktemp("workspace"), seed, 12)
