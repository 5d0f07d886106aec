"""The transactions of a round of tools: which steps share one, and what a crash, a stop, a limit or
a new message finds recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import msgspec
import pytest

from nanobot.errors import StoreError, StoreUnwritable
from nanobot.plugins.budgets.settings import UNLIMITED
from nanobot.providers.base import Completion, ModelProfile, ModelRequest, ToolCall
from nanobot.session.entries import ReplyEntry, ToolResultEntry
from nanobot.store.database.durability import waits
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.model import Answer, ScriptedProvider, asks_for
from nanobot.tools.base import Effect
from tests.agent.tooling import Args, Gate, Recorder, answered, bodies, kinds
from tests.plugins.budgets.ledgers import ledger


async def verbs_of(*answers: Answer, effect: Effect = Effect.NONE) -> list[str]:
    """The transactions from the first model call on."""
    async with gateway(ScriptedProvider(*answers), tools=[Recorder().tool(effect=effect)]) as bot:
        await bot.channel.push("go")
        await answered(bot)
        return bot.process.verbs[bot.process.verbs.index("start_model") :]


async def test_a_quick_round_without_effect_is_one_transaction() -> None:
    verbs = await verbs_of(asks_for("exec", text="1"), asks_for("exec", text="2"), "done")
    joined = "record_reply+record_result+start_model"
    assert verbs == ["start_model", joined, joined, "finish+begin_send", "receipt"]
    assert waits([joined])


async def test_a_round_with_an_effect_is_two_which_wait_for_the_disk() -> None:
    verbs = await verbs_of(asks_for("exec"), "done", effect=Effect.WORLD)
    around = ["record_reply+start_tool", "record_result+start_model"]
    assert verbs == ["start_model", *around, "finish+begin_send", "receipt"]
    assert all(waits([verb]) for verb in around)


async def test_several_effects_are_recorded_one_by_one() -> None:
    two = Completion(text="", tool_calls=(ToolCall("a", "exec", "{}"), ToolCall("b", "exec", "{}")))
    assert await verbs_of(two, "done", effect=Effect.WORLD) == [
        "start_model",
        "record_reply+start_tool",
        "record_result",
        "start_tool",
        "record_result+start_model",
        "finish+begin_send",
        "receipt",
    ]


async def test_the_reply_is_on_disk_while_a_call_without_effect_takes_longer() -> None:
    gate = Gate()
    tool = Recorder().tool("look", Effect.NONE, gate)
    async with gateway(ScriptedProvider(asks_for("look"), "done"), tools=[tool]) as bot:
        await bot.channel.push("go")
        await gate.reached.wait()
        assert bodies(bot, ReplyEntry) == []
        async with asyncio.timeout(5):
            while not bodies(bot, ReplyEntry):  # noqa: ASYNC110 - it is a store
                await asyncio.sleep(0.01)
        assert bot.process.verbs[-1] == "record_reply"
        gate.open.set()
        await answered(bot)
        assert "record_result+start_model" in bot.process.verbs
        assert kinds(bot)[2:] == ["ModelCall", "Reply", "ToolResult", "ModelCall", "Reply"]
        bot.home.verify("fake:1")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_store_that_fails_meanwhile_ends_the_calls_and_the_run_goes_on_later(
    when: str,
) -> None:
    gate, failed = Gate(), asyncio.Event()

    def fails(verb: str) -> None:
        if verb == "record_reply" and not failed.is_set():
            failed.set()
            gate.open.set()
            raise StoreUnwritable("the disk is full")

    def by_results(request: ModelRequest) -> Answer:
        return "done" if request.messages[-1].role == "tool" else asks_for("look")

    tool = Recorder().tool("look", Effect.NONE, gate)
    async with gateway(ScriptedProvider(otherwise=by_results), tools=[tool]) as bot:
        setattr(bot.process, when, fails)
        await bot.channel.push("go")
        assert (await bot.channel.pop()).text == "done"
        await bot.settle()
        assert failed.is_set()
        assert kinds(bot).count("Failed") == 0
        assert kinds(bot).count("ToolResult") == 1
        bot.home.verify("fake:1")


async def test_a_crash_meanwhile_ends_the_process() -> None:
    gate = Gate()
    tool = Recorder().tool("look", Effect.NONE, gate)
    async with gateway(ScriptedProvider(asks_for("look")), tools=[tool]) as bot:
        bot.process.before = _crash(bot, "record_reply", 1)
        await bot.channel.push("go")
        async with asyncio.timeout(5):
            while not bot.process.dead:  # noqa: ASYNC110 - it is no event
                await asyncio.sleep(0.01)


async def test_a_message_that_came_meanwhile_follows_the_result() -> None:
    gate = Gate()
    tool = Recorder().tool("exec", then=gate)
    async with gateway(ScriptedProvider(asks_for("exec"), "done"), tools=[tool]) as bot:
        await bot.channel.push("go")
        await gate.reached.wait()
        await bot.channel.push("and this")
        gate.open.set()
        await answered(bot)
        order = ["record_result", "take_pending", "start_model"]
        assert [verb for verb in bot.process.verbs if verb in order][-3:] == order
        assert kinds(bot)[4:] == ["ToolStarted", "ToolResult", "User", "ModelCall", "Reply"]


async def test_a_stop_before_a_quick_call_ends_records_its_reply_once() -> None:
    gateways: list[FakeGateway] = []

    async def stopping(_: Args) -> str:
        await gateways[0].channel.push("/stop")
        return "seen"

    model = ScriptedProvider(asks_for("look"), "next")
    tool = Recorder().tool("look", Effect.NONE, stopping)
    async with gateway(model, tools=[tool]) as bot:
        gateways.append(bot)
        await bot.channel.push("go")
        await answered(bot)
        (reply,) = bodies(bot, ReplyEntry)
        assert [call.name for call in reply.tool_calls] == ["look"]
        assert not reply.partial
        assert not bodies(bot, ToolResultEntry)
        await bot.channel.push("again")
        await answered(bot)
        assert len(bodies(bot, ReplyEntry)) == 2


async def test_what_a_limit_refuses_a_call_after_is_recorded_all_the_same() -> None:
    limits = msgspec.structs.replace(UNLIMITED, requests_per_day=1)
    model, tool = ScriptedProvider(asks_for("look")), Recorder().tool("look", Effect.NONE)
    async with gateway(model, tools=[tool], options=Options(ledger=ledger(limits))) as bot:
        await bot.channel.push("go")
        assert "I cannot answer now" in (await bot.channel.pop()).text
        await bot.settle()
        assert kinds(bot) == ["User", "Prompt", "ModelCall", "Reply", "ToolResult"]
        assert bot.process.verbs[-4:-2] == ["record_reply", "record_result"]
        bot.home.verify("fake:1")


@pytest.mark.parametrize(
    ("verb", "nth"), [("record_reply", 1), ("record_result", 1), ("start_model", 2)]
)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("effect", [Effect.NONE, Effect.WORLD])
async def test_a_crash_in_a_round_repeats_no_effect_and_answers_once(
    verb: str, nth: int, when: str, effect: Effect
) -> None:
    recorder = Recorder()

    def by_results(request: ModelRequest) -> Answer:
        return "done" if request.messages[-1].role == "tool" else asks_for("exec")

    model, tool = ScriptedProvider(otherwise=by_results), recorder.tool(effect=effect)
    async with MemoryHome() as home:
        async with gateway(model, home=home, tools=[tool]) as bot:
            setattr(bot.process, when, _crash(bot, verb, nth))
            with suppress(StoreError):
                await bot.channel.push("go", key="u1")
            await bot.settle()
            assert bot.channel.sent == []
        async with gateway(model, home=home, tools=[tool]) as bot:
            await bot.channel.push("go", key="u1")  # the platform brings it again
            assert (await bot.channel.pop()).text == "done"
            await bot.settle()
            assert len(recorder.calls) <= (1 if effect is Effect.WORLD else 2)
            assert len(bodies(bot, ToolResultEntry)) == 1
            bot.home.verify("fake:1")


def _crash(bot: FakeGateway, verb: str, nth: int) -> Callable[[str], None]:
    """End the process when it reaches the verb for the nth time."""
    left = nth

    def fate(now: str) -> None:
        nonlocal left
        left -= now == verb
        if now == verb and left == 0:
            bot.crash()

    return fate


class Undecided(ScriptedProvider):
    """Cannot be picked after its first answer."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(*answers)
        self.hangs = asyncio.Event()

    async def pick(self, label: str | None = None) -> tuple[ScriptedProvider, ModelProfile]:
        if self.requests:
            self.hangs.set()
            await asyncio.Event().wait()
        return await super().pick(label)


@pytest.mark.parametrize("effect", [Effect.NONE, Effect.WORLD])
async def test_a_planned_stop_between_a_result_and_the_next_call_loses_nothing(
    effect: Effect,
) -> None:
    recorder = Recorder()
    tool = recorder.tool(effect=effect)
    async with MemoryHome() as home:
        undecided = Undecided(asks_for("exec"))
        async with gateway(undecided, home=home, tools=[tool]) as bot:
            await bot.channel.push("go")
            await undecided.hangs.wait()
            assert bodies(bot, ToolResultEntry) == []
            bot.stop()
            await bot.settle()
            assert bot.process.verbs[-2:] == ["record_result", "release"]
        async with gateway(ScriptedProvider("done"), home=home, tools=[tool]) as bot:
            assert (await bot.channel.pop()).text == "done"
            assert recorder.calls == ["exec"]
