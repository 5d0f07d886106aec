"""The store fails once, at any verb, before or after its commit: all the same every message is
answered once, or says that it may be a repeat."""

from __future__ import annotations

from collections import Counter

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import ModelUnreachable, StoreUnwritable
from nanobot.providers.base import ModelRequest
from nanobot.session.entries import ToolResultEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import Answer, Held, ScriptedProvider, asks_for
from nanobot.testing.platform import FakeChannel
from nanobot.tools.base import Effect
from tests.agent.tooling import Recorder, bodies

RUN_VERBS = (
    "take_pending",
    "start_model",
    "record_reply",
    "start_tool",
    "record_result",
    "finish",
    "begin_send",
    "receipt",
)


class FailsOnce:
    """The nth time a verb is reached it fails, and so often in a row."""

    def __init__(self, verb: str, nth: int = 1, times: int = 1) -> None:
        self.reached = 0
        self._verb = verb
        self._nth = nth
        self._times = times

    def __call__(self, verb: str) -> None:
        if verb == self._verb:
            self.reached += 1
            if self._nth <= self.reached < self._nth + self._times:
                raise StoreUnwritable("the disk is full")


def install(bot: FakeGateway, failing: FailsOnce, when: str) -> None:
    if when == "before":
        bot.process.before = failing
    else:
        bot.process.after = failing


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("verb", RUN_VERBS)
@pytest.mark.parametrize("nth", [1, 2])
async def test_a_run_survives_a_store_that_fails_once(verb: str, when: str, nth: int) -> None:
    recorder, held = Recorder(), Held()
    tools = [recorder.tool("exec"), recorder.tool("look", Effect.NONE)]
    model = ScriptedProvider(held)
    async with gateway(model, tools=tools) as bot:
        failing = FailsOnce(verb, nth)
        install(bot, failing, when)
        await bot.channel.push("one")
        await held.reached.wait()
        await bot.channel.push("two")

        def by_results(request: ModelRequest) -> Answer:
            done = len(bodies(bot, ToolResultEntry))
            return asks_for("exec", text=str(done)) if done < 3 else "the answer"

        model.otherwise = by_results
        held.answer(asks_for("look"))
        text = (await bot.channel.pop()).text
        await bot.settle()
        assert failing.reached >= nth or verb in ("take_pending", "finish", "begin_send", "receipt")
        assert text.startswith("the answer")
        unmarked = Counter(
            message.key for message in bot.channel.sent if REPEAT_LINE not in message.text
        )
        assert max(unmarked.values(), default=0) <= 1
        assert len({message.key for message in bot.channel.sent}) <= 2
        assert len(bot.channel.sent) <= 3
        assert all(
            recorder.calls.count(call) == 1 for call in set(recorder.calls) if "exec" in call
        )
        assert bot.worker.running == []
        bot.home.verify("fake:1")


async def test_a_lane_that_could_not_be_claimed_is_claimed_again(bot: FakeGateway) -> None:
    install(bot, FailsOnce("claim"), "before")
    await bot.channel.push("hello")
    assert (await bot.channel.pop()).text == "echo: hello"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_message_that_could_not_be_admitted_is_brought_again(when: str) -> None:
    async with gateway() as bot:
        install(bot, FailsOnce("admit", times=2), when)  # with a claim, and without
        with pytest.raises(StoreUnwritable):
            await bot.channel.push("hello", key="u1")
        await bot.channel.push("hello", key="u1")
        assert (await bot.channel.pop()).text == "echo: hello"
        await bot.settle()
        assert len(bot.channel.sent) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_message_that_could_not_be_admitted_with_its_claim_is_admitted_without(
    when: str,
) -> None:
    async with gateway() as bot:
        install(bot, FailsOnce("claim"), when)
        await bot.channel.push("hello", key="u1")
        assert (await bot.channel.pop()).text == "echo: hello"
        await bot.settle()
        assert len(bot.channel.sent) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_command_that_could_not_be_admitted_is_brought_again(when: str) -> None:
    async with gateway() as bot:
        install(bot, FailsOnce("admit"), when)
        with pytest.raises(StoreUnwritable):
            await bot.channel.push("/help", key="u1")
        await bot.channel.push("/help", key="u1")
        assert "Write to me" in (await bot.channel.pop()).text
        await bot.settle()
        assert len(bot.channel.sent) == 1


async def test_a_store_that_fails_while_a_failure_is_recorded_is_waited_for() -> None:
    model = ScriptedProvider(ModelUnreachable("no connection"), ModelUnreachable("no connection"))
    async with gateway(model) as bot:
        install(bot, FailsOnce("finish"), "before")
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "I could not answer: no connection"


async def test_a_store_that_fails_for_long_is_waited_for() -> None:
    channel = FakeChannel()
    async with gateway(channel=channel) as bot:
        left = 40

        def before(verb: str) -> None:
            nonlocal left
            if verb != "admit" and left:
                left -= 1
                raise StoreUnwritable("the disk is full")

        bot.process.before = before
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
        await bot.settle()
        assert len(channel.sent) == 1
