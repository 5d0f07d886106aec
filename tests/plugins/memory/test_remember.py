"""Remembering: a quiet conversation is summed up once, into the memory of whoever it belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from nanobot.errors import ModelUnreachable, NanobotError, StoreError
from nanobot.messages import Origin
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.plugins.memory.remember import DueSession, Remembering
from nanobot.plugins.memory.store.remembering import SqlRemembering
from nanobot.providers.base import ModelProfile, ModelRequest
from nanobot.session.auxiliary import NoReservation
from nanobot.session.entries import RememberEntry, ReplyEntry
from nanobot.store.database import schema
from nanobot.store.unit import StoreContext
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.tools.base import Effect
from nanobot.troubles import TROUBLES
from tests.agent.tooling import Recorder, answered, bodies
from tests.plugins.memory.doubles import FakeMemory
from tests.stored import due_of, lists_of


def is_summing(request: ModelRequest) -> bool:
    return str(request.messages[0].content).startswith("You keep the memory of an assistant")


def model(summary: Any = "Ada likes tea.", **profile: Any) -> ScriptedProvider:
    return ScriptedProvider(
        otherwise=lambda request: summary if is_summing(request) else "ok",
        model=ModelProfile(name="scripted", provider="test", **profile),
    )


def otherwise(request: ModelRequest) -> str:
    return "The moon is far." if is_summing(request) else "ok"


def records(bot: FakeGateway) -> SqlRemembering:
    return SqlRemembering(bot.process, StoreContext(bot.home.clock, bot.home.ids, "archivist"))


def remembering(bot: FakeGateway, memory: FakeMemory) -> Remembering:
    return Remembering(records(bot), memory, AuxiliaryModels(bot.provider), bot.home.clock)


async def say(bot: FakeGateway, *texts: str, **fields: Any) -> None:
    for text in texts:
        await bot.channel.push(text, **fields)
        await answered(bot)


def later(bot: FakeGateway, seconds: float = 61.0) -> None:
    assert isinstance(bot.home.clock, ManualClock)
    bot.home.clock.advance(seconds)


def summings(provider: ScriptedProvider) -> list[str]:
    return [
        str(request.messages[1].content) for request in provider.requests if is_summing(request)
    ]


async def test_a_quiet_conversation_is_summed_up_once_over_all_that_is_new() -> None:
    provider, memory = model(), FakeMemory()
    async with gateway(provider) as bot:
        service = remembering(bot, memory)
        await say(bot, "I am Ada", "I like tea")
        later(bot, 30)
        await service.look()
        assert not summings(provider)
        later(bot)
        for _ in range(3):
            await service.look()
        (summing,) = summings(provider)
        assert "I am Ada" in summing
        assert "I like tea" in summing
        ((text, provenance, state, kind),) = memory.texts["owner"]
        assert (text, state, kind) == ("Ada likes tea.", "active", "summary")
        assert (provenance.session_key, provenance.first_seq) == ("fake:1", 1)
        (entry,) = bodies(bot, RememberEntry)
        assert entry.upto == provenance.last_seq
        await say(bot, "and cake")
        later(bot)
        await service.look()
        assert len(summings(provider)) == 2
        assert "tea" not in summings(provider)[1]
        assert bot.home.verify("fake:1")


async def test_it_leaves_a_read_conversation_read() -> None:
    async with gateway(model()) as bot:
        await say(bot, "Hi")
        later(bot)
        before = await lists_of(bot.records).one("fake:1")
        await remembering(bot, FakeMemory()).look()
        after = await lists_of(bot.records).one("fake:1")
        assert before is not None
        assert after is not None
        assert after.updated_at == before.updated_at


async def test_where_nothing_is_worth_it_nothing_is_kept() -> None:
    provider, memory = model("NOTHING."), FakeMemory()
    async with gateway(provider) as bot:
        service = remembering(bot, memory)
        await say(bot, "Hi")
        later(bot)
        await service.look()
        await service.look()
        assert len(summings(provider)) == 1
        assert memory.texts == {}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("verb", ["remember", "remembered"])
async def test_a_crash_at_any_record_keeps_one_memory(verb: str, moment: str) -> None:
    provider, memory = model(), FakeMemory()
    async with MemoryHome() as home:
        async with gateway(provider, home=home) as bot:
            await say(bot, "I like tea")
            later(bot)

            def crash(done: str) -> None:
                if done == verb:
                    bot.crash()

            setattr(bot.process, moment, crash)
            with pytest.raises(NanobotError):
                await remembering(bot, memory).look()
        async with gateway(provider, home=home) as bot:
            service = remembering(bot, memory)
            await service.look()
            await service.look()
            assert len(memory.texts["owner"]) == 1
            assert len(bodies(bot, RememberEntry)) == 1
            assert len(summings(provider)) == (2 if (verb, moment) == ("remember", "before") else 1)


async def test_two_processes_over_one_store_keep_one_summary(memory: FakeMemory) -> None:
    async with gateway(model()) as bot:
        await say(bot, "I like tea")
        later(bot)
        store = records(bot)
        (due,) = await due_of(store)
        mine = RememberEntry(text="mine", first=1, upto=due.head)
        theirs = RememberEntry(text="theirs", first=1, upto=due.head)
        assert await store.record(due, "", mine, NoReservation(0)) == mine
        assert await store.record(due, "", theirs, NoReservation(0)) == mine
        await store.done(due, due.head)
        assert await store.record(due, "", theirs, NoReservation(0)) is None
        await remembering(bot, memory).look()
        assert len(bodies(bot, RememberEntry)) == 1


async def test_a_session_is_remembered_without_a_look_at_all_others(memory: FakeMemory) -> None:
    provider = model()
    async with gateway(provider) as bot:
        service = remembering(bot, memory)
        await say(bot, "I like tea")
        (due,) = await due_of(records(bot), 0.0)
        later(bot, 1.0)
        await service.look_again()
        assert not summings(provider)
        service.heard(due.session_key)
        await service.look_again()
        assert not summings(provider)  # it is not quiet yet
        later(bot)
        await service.look_again()
        assert len(memory.texts["owner"]) == 1
        await service.look_again()
        assert len(summings(provider)) == 1


class Eventful(SqlRemembering):
    """Something happens in a session after it was read. Then reading fails, once."""

    asked: list[list[str]]
    heard: Callable[[str], None]

    async def due_among(self, quiet_seconds: float, keys: Sequence[str]) -> list[DueSession]:
        self.asked.append([*keys])
        found = await super().due_among(quiet_seconds, keys)
        if len(self.asked) == 1:
            self.heard(keys[0])
        elif len(self.asked) == 2:
            raise StoreError("no")
        return found


async def test_what_happens_during_a_look_is_looked_at_next_time(memory: FakeMemory) -> None:
    async with gateway(model()) as bot:
        home = bot.home
        store = Eventful(bot.process, StoreContext(home.clock, home.ids, "archivist"))
        service = Remembering(store, memory, AuxiliaryModels(bot.provider), home.clock)
        store.asked, store.heard = [], service.heard
        service.heard("fake:1")
        await service.look_again()
        with pytest.raises(StoreError):
            await service.look_again()
        await service.look_again()
        await service.look_again()
        assert store.asked == [["fake:1"]] * 3


async def test_a_heartbeat_that_said_nothing_is_not_remembered() -> None:
    provider = model()
    async with gateway(provider) as bot:
        (lane, run) = await _silent(bot)
        assert run
        later(bot)
        await remembering(bot, FakeMemory()).look()
        assert not summings(provider)
        assert await due_of(records(bot)) == []
        assert lane


async def _silent(bot: FakeGateway) -> tuple[str, str]:
    """A heartbeat whose answer is delivered to nobody."""
    await bot.channel.push("beat", origin=Origin.HEARTBEAT, chat="9")
    await answered(bot)
    bot.home.do(lambda c: c.exec_driver_sql("DELETE FROM outbound_parts"))
    bot.home.do(lambda c: c.exec_driver_sql("DELETE FROM outbound"))
    (reply,) = bodies(bot, ReplyEntry, "fake:9")
    return "fake:9", reply.text


async def test_a_heartbeat_that_told_somebody_something_is_remembered() -> None:
    provider = model()
    async with gateway(provider) as bot:
        await say(bot, "beat", origin=Origin.HEARTBEAT)
        later(bot)
        await remembering(bot, FakeMemory()).look()
        assert len(summings(provider)) == 1


async def test_a_group_is_remembered_for_itself(memory: FakeMemory) -> None:
    async with gateway(model()) as bot:
        await say(bot, "I like tea", group=True, addressed=True)
        later(bot)
        await remembering(bot, memory).look()
        assert list(memory.texts) == ["chats/fake/1"]


async def test_what_came_from_outside_waits_for_a_person() -> None:
    memory, recorder = FakeMemory(), Recorder()
    async with gateway(model(), tools=[recorder.tool("look", Effect.NONE)]) as bot:
        await say(bot, "read this", tainted=True)
        later(bot)
        await remembering(bot, memory).look()
        ((_, provenance, state, _),) = memory.texts["owner"]
        assert (state, provenance.tainted) == ("proposed", True)


async def test_a_background_run_is_remembered_where_its_end_was_told_alone() -> None:
    spawning = asks_for("spawn", task="look at the moon", label="The moon")
    provider, memory = ScriptedProvider(spawning, otherwise=otherwise), FakeMemory()
    async with gateway(provider, options=Options(spawn=True)) as bot:
        await say(bot, "how far is the moon?")
        await answered(bot)
        later(bot)
        service = remembering(bot, memory)
        await service.look()
        await service.look()
        (summing,) = summings(provider)
        assert "how far is the moon?" in summing
        assert list(memory.texts) == ["owner"]
        assert await due_of(records(bot)) == []


async def test_whatever_is_kept_is_proposed_where_a_person_wants_to_be_asked() -> None:
    memory = FakeMemory()
    async with gateway(model()) as bot:
        await say(bot, "I like tea")
        later(bot)
        helpers, clock = AuxiliaryModels(bot.provider), bot.home.clock
        await Remembering(records(bot), memory, helpers, clock, ask=True).look()
        ((_, provenance, state, _),) = memory.texts["owner"]
        assert (state, provenance.tainted) == ("proposed", False)


async def test_a_small_model_is_spared_it_and_loses_nothing() -> None:
    provider = model(helper_calls=False)
    async with gateway(provider) as bot:
        await say(bot, "Hi")
        later(bot)
        await remembering(bot, FakeMemory()).look()
        assert not summings(provider)
        (due,) = await due_of(records(bot))
        assert isinstance(due, DueSession)


@pytest.mark.parametrize("part", ["model", "memory"])
async def test_what_fails_is_tried_again_later(part: str, memory: FakeMemory) -> None:
    broken = part == "model"
    provider = ScriptedProvider("ok", *([ModelUnreachable("no")] if broken else []), "Tea.")
    memory.fails = None if broken else NanobotError("no space")
    async with gateway(provider) as bot:
        service = remembering(bot, memory)
        await say(bot, "Hi")
        later(bot)
        await service.look()
        await service.look()
        assert memory.texts == {}
        memory.fails = None
        later(bot, 601)
        await service.look()
        assert [kept[0] for kept in memory.texts["owner"]] == ["Tea."]
        assert len(summings(provider)) == (2 if broken else 1)


async def test_a_conversation_that_cannot_be_read_keeps_no_other_from_memory() -> None:
    provider, memory = model(), FakeMemory()
    async with gateway(provider) as bot:
        service = remembering(bot, memory)
        await say(bot, "I am Ada", chat="1")
        await say(bot, "I am Bob", chat="2")
        rotten = sa.update(schema.entries).where(schema.entries.c.session_key == "fake:1")
        bot.home.do(lambda connection: connection.execute(rotten.values(payload=b"\xff{")))
        later(bot)
        for _ in range(2):
            await service.look()
        assert ["I am Bob" in text for text in summings(provider)] == [True]
        assert any(each.what == "remembering fake:1" for each in TROUBLES.recent())


class Looked(SqlRemembering):
    """Which looks there were."""

    def __init__(self) -> None:
        self.looks: list[str] = []

    async def due(self, quiet_seconds: float, beyond: str) -> tuple[list[DueSession], str | None]:
        self.looks.append("all")
        return [], None

    async def due_among(self, quiet_seconds: float, keys: Sequence[str]) -> list[DueSession]:
        self.looks.append("some")
        return []


async def test_all_sessions_are_looked_at_at_first_and_from_time_to_time(
    memory: FakeMemory,
) -> None:
    """Another process may have changed some."""
    clock, records = ManualClock(instant=False), Looked()
    service = Remembering(records, memory, AuxiliaryModels(model()), clock)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(service.run(MessageBus()))
        for _ in range(200):
            for _turn in range(8):
                await asyncio.sleep(0)
            service.heard("telegram:1")
            clock.advance(5.0)
        running.cancel()
    assert records.looks[0] == "all"
    assert records.looks.count("all") in (3, 4)
    assert records.looks.count("some") > 2
