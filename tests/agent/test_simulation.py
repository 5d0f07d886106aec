"""Whole lives of a gateway, each from one seed: people write, models, tools and platforms fail, and
the process dies at any verb. In the end every message was answered once, or the answer says that it
may be a repeat."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from loguru import logger

from nanobot.agent import tool_calls
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import StepLimits
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import (
    ContextOverflow,
    ModelUnreachable,
    NotSent,
    OutcomeUnknown,
    Refused,
    StoreError,
    ToolError,
)
from nanobot.messages import Address
from nanobot.ports import Capabilities, OutboundPart
from nanobot.providers.base import ModelRequest
from nanobot.session.entries import Entry, UserEntry
from nanobot.store.database import schema
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.model import Answer, ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER, OWNER, FakeChannel
from nanobot.tools.base import Effect, Tool
from tests.agent.tooling import Args, Recorder
from tests.sampling import few

CHATS = ("1", "2", "3")
MESSAGES = 14
CRASHES = 6
OPTIONS = Options(settings=RunSettings(limits=StepLimits(max_iterations=8), max_history=6))


class Platform(FakeChannel):
    """A platform with bad days."""

    def __init__(self, chance: random.Random) -> None:
        reconciles = chance.random() < 0.3
        super().__init__(limit=40, capabilities=Capabilities(reconciles=reconciles))
        self._chance = chance

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        dice = self._chance.random()
        if dice < 0.1:
            self.fail(NotSent("503"), chat=address.chat_id)
        elif dice < 0.2:
            applied = self._chance.random() < 0.5
            self.fail(OutcomeUnknown("no answer"), chat=address.chat_id, applied=applied)
        elif dice < 0.23:
            self.fail(Refused("not like this"), chat=address.chat_id)
        return await super().send(address, part, plain=plain)


class Life:
    """One seed's life: what happens in it, and what must hold in the end."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.home = MemoryHome()
        self.channel = Platform(self.chance)
        self.effects = Recorder()
        self.provider = ScriptedProvider(otherwise=self._answer)
        self.crashes = 0
        self.quick = 0.0 if seed % 2 else 3_600.0
        """No matter how fast the machine is, calls are either always slow or always quick."""
        self.lives = 0
        self.logs: dict[str, list[Entry]] = {}
        self._to_come = deque(
            (self.chance.choice(CHATS), self.chance.choice((OWNER, MEMBER)), f"message {number}")
            for number in range(MESSAGES)
        )
        self._said = list(self._to_come)

    def _answer(self, request: ModelRequest) -> Answer:
        dice = self.chance.random()
        if dice < 0.06:
            return ModelUnreachable("no connection")
        if dice < 0.08:
            return RuntimeError("a bug")
        if dice < 0.1:
            return ContextOverflow("too long")
        if dice < 0.5:
            return asks_for(self.chance.choice(("act", "look")), "Let me see.", text=str(dice))
        return "answer " * self.chance.randint(1, 12)

    async def _dawdle(self) -> None:
        """Let others go on for a while, so that things happen at the same time."""
        for _ in range(self.chance.choice((0, 2, 10, 40))):
            await asyncio.sleep(0)

    async def _effect(self, args: Args) -> str:
        await self._dawdle()
        if self.chance.random() < 0.2:
            raise ToolError("did not work")
        return f"did {args.text}"

    def _tools(self) -> list[Tool[Args]]:
        return [
            self.effects.tool("act", then=self._effect),
            self.effects.tool("look", Effect.NONE, then=self._effect),
        ]

    async def whole(self) -> None:
        """Live until everything is said and answered."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(tool_calls, "_QUICK_SECONDS", self.quick)
            while not await self._once():
                assert self.lives < 60

    async def _once(self) -> bool:
        self.lives += 1
        async with gateway(
            self.provider, self.channel, tools=self._tools(), home=self.home, options=OPTIONS
        ) as bot:
            bot.process.before = bot.process.after = lambda verb: self._fate(bot)
            for _ in range(400):
                await self._write(bot)
                if bot.process.dead:
                    return False
                if self._done(bot):
                    return True
                if self.chance.random() < 0.03:
                    return False  # told to end
            raise AssertionError("it goes on for ever")

    def _fate(self, bot: FakeGateway) -> None:
        dice = self.chance.random()
        if dice < 0.015 and self.crashes < CRASHES and not bot.process.dead:
            self.crashes += 1
            bot.crash()

    async def _write(self, bot: FakeGateway) -> None:
        """Perhaps somebody writes; the platform brings it again until it was taken."""
        await self._dawdle()
        if not self._to_come:
            await bot.settle()
        if not self._to_come or bot.process.dead:
            return
        chat, sender, text = self._to_come[0]
        try:
            for _ in range(self.chance.choice((1, 1, 1, 2))):
                await self.channel.push(text, chat=chat, sender=sender, key=text)
        except StoreError:
            return
        self._to_come.popleft()

    def _done(self, bot: FakeGateway) -> bool:
        waiting = self.count(schema.inbound, schema.inbound.c.state != "settled")
        owed = self.count(schema.outbound, schema.OUTBOUND_OPEN)
        return not (self._to_come or waiting or owed or bot.worker.running)

    def count(self, table: sa.Table, where: sa.ColumnElement[bool] | sa.TextClause) -> int:
        query = sa.select(sa.func.count()).select_from(table).where(where)
        return int(self.home.do(lambda connection: connection.scalar(query)) or 0)

    # What must hold

    def judge(self) -> None:
        self.logs = {chat: self.home.entries(f"fake:{chat}") for chat in CHATS}
        self._every_message_is_in_the_log_once()
        self._every_run_owes_one_answer()
        self._every_answer_arrived_once_or_says_so()
        self._effects_happened_once()
        for chat in CHATS:
            if any(row[0] == chat for row in self._said):
                assert self.home.verify(f"fake:{chat}") > 0

    def _every_message_is_in_the_log_once(self) -> None:
        for chat in CHATS:
            logged = [
                entry.body.text for entry in self.logs[chat] if isinstance(entry.body, UserEntry)
            ]
            for sender in (OWNER, MEMBER):
                heard = [t for c, s, t in self._said if (c, s) == (chat, sender)]
                assert [text for text in logged if text in heard] == heard
            assert len(logged) == sum(row[0] == chat for row in self._said)

    def _every_run_owes_one_answer(self) -> None:
        runs, outbound = schema.runs.c, schema.outbound.c
        query = sa.select(runs.id, runs.state)
        rows = self.home.do(lambda connection: connection.execute(query).all())
        states = {row.id: row.state for row in rows}
        owed = self.home.do(lambda c: c.scalars(sa.select(outbound.run_id)).all())
        assert set(states.values()) <= {"completed", "failed"}
        assert Counter(owed) == Counter(list(states))

    def _every_answer_arrived_once_or_says_so(self) -> None:
        o = schema.outbound.c
        query = sa.select(o.key, o.chat_id, o.state, o.maybe_duplicate).order_by(o.id)
        rows = self.home.do(lambda connection: connection.execute(query).all())
        first: dict[str, list[str]] = {}
        for message in self.channel.sent:
            key = message.key.removesuffix(":r").rpartition(":")[0]
            seen = first.setdefault(message.address.chat_id, [])
            if key not in seen:
                seen.append(key)
        again = Counter(message.key for message in self.channel.sent)
        for row in rows:
            # Dead: refused as formatted and as plain text.
            assert row.state in ("sent", "dead")
            assert row.state == "dead" or row.key in first[row.chat_id]
            parts = [key for key in again if key.startswith(f"{row.key}:")]
            if any(again[key] > 1 for key in parts):
                assert row.maybe_duplicate
        for chat, keys in first.items():
            assert keys == [row.key for row in rows if row.chat_id == chat and row.key in keys]
        if self.channel.capabilities.reconciles:
            assert max(again.values()) == 1
            assert all(REPEAT_LINE not in message.text for message in self.channel.sent)

    def _effects_happened_once(self) -> None:
        world = [
            context.key
            for context, call in zip(self.effects.contexts, self.effects.calls, strict=True)
            if call.startswith("act")
        ]
        assert len(world) == len(set(world))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What goes wrong here goes wrong on purpose."""
    logger.disable("nanobot")
    yield
    logger.enable("nanobot")


async def live(seed: int) -> Life:
    life = Life(seed)
    try:
        await life.whole()
        life.judge()
    finally:
        await life.home.close()
    return life


@pytest.mark.parametrize("seed", few(range(50), 16))
async def test_a_life_of_failures_answers_every_message_once(seed: int) -> None:
    await live(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
async def test_a_thousand_more_lives(block: int) -> None:
    for seed in range(1_000 + block * 50, 1_050 + block * 50):
        await live(seed)


async def test_the_same_seed_is_the_same_life() -> None:
    first, second = Life(3), Life(3)
    for life in (first, second):
        await life.whole()
        life.judge()
        await life.home.close()
    assert first.logs == second.logs
    assert first.channel.sent == second.channel.sent


@pytest.mark.process
async def test_the_lives_are_as_hard_as_they_are_meant_to_be() -> None:
    lives = [await live(seed) for seed in range(10)]
    assert sum(life.crashes for life in lives) > 20
    assert any(REPEAT_LINE in message.text for life in lives for message in life.channel.sent)
    assert all(len(life.provider.requests) > 5 for life in lives)
    logs = [entry.body for life in lives for chat in CHATS for entry in life.logs[chat]]
    assert sum(isinstance(body, UserEntry) and body.steered for body in logs) > 2
