"""Lanes: in order within, side by side across, fair, fenced, given back."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa

from nanobot.agent.settings import RunSettings
from nanobot.agent.worker import Capacity
from nanobot.errors import StoreUnwritable
from nanobot.messages import Origin
from nanobot.providers.base import ModelRequest
from nanobot.retries import STORE_RETRY_SECONDS
from nanobot.session.entries import UserEntry
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options, Process
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import Answer, Held, ScriptedProvider, asks_for, last_text
from nanobot.testing.platform import MEMBER, OWNER, FakeChannel
from tests.agent.building import asking
from tests.agent.tooling import Recorder, answered, bodies


class Hanging:
    """A model that hangs on every message with "hang" in it, and echoes the rest."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self.provider = ScriptedProvider(otherwise=self._answer)

    def _answer(self, request: ModelRequest) -> Answer:
        if "hang" in last_text(request):
            self.held.append(Held())
            return self.held[-1]
        return f"echo: {last_text(request)}"


def running(bot: FakeGateway) -> set[str]:
    return {run.address.chat_id for run in bot.worker.running}


@pytest.fixture
def model() -> Hanging:
    return Hanging()


async def test_a_lanes_messages_are_answered_in_order() -> None:
    async with gateway(options=Options(settings=RunSettings(steer=False))) as bot:
        texts = [f"{number}" for number in range(10)]
        for number, text in enumerate(texts):
            await bot.channel.push(text, sender=OWNER if number % 2 else MEMBER)
        answers = [(await bot.channel.pop()).text for _ in texts]
        assert answers == [f"echo: {text}" for text in texts]


async def test_a_hanging_model_holds_its_own_chat_only(model: Hanging) -> None:
    async with gateway(model.provider) as bot:
        await bot.channel.push("hang", chat="1")
        await bot.provider.asked(1)
        for number in range(5):
            await bot.channel.push(f"{number}", chat="2")
            assert (await bot.channel.pop()).text == f"echo: {number}"
        assert running(bot) == {"1"}
        model.held[0].answer("at last")
        assert (await bot.channel.pop("1")).text == "at last"


async def test_a_chat_with_much_to_say_does_not_starve_the_others(model: Hanging) -> None:
    options = Options(capacity=Capacity(max_runs=1))
    async with gateway(model.provider, options=options) as bot:
        await bot.channel.push("hang", chat="0")
        await bot.provider.asked(1)
        for number in range(50):
            await bot.channel.push(f"{number}", chat="1", sender=OWNER if number % 2 else MEMBER)
        await bot.channel.push("me too", chat="2")
        model.held[0].answer("at last")
        await bot.channel.pop("2")
        assert sum(message.address.chat_id == "1" for message in bot.channel.sent) <= 2


async def test_no_more_runs_than_allowed_go_at_once(model: Hanging) -> None:
    options = Options(capacity=Capacity(max_runs=2))
    async with gateway(model.provider, options=options) as bot:
        for chat in "123":
            await bot.channel.push("hang", chat=chat)
        await bot.settle()
        assert running(bot) == {"1", "2"}
        model.held[0].answer("done")
        await bot.provider.asked(3)
        assert running(bot) == {"2", "3"}


async def test_background_work_and_people_do_not_wait_for_each_other(model: Hanging) -> None:
    options = Options(capacity=Capacity(max_runs=1, max_background=1))
    async with gateway(model.provider, options=options) as bot:
        for chat in ("b1", "b2"):
            await bot.channel.push("hang", chat=chat, origin=Origin.CRON)
        await bot.settle()
        assert running(bot) == {"b1"}
        await bot.channel.push("hello", chat="1")
        assert (await bot.channel.pop("1")).text == "echo: hello"
        await bot.channel.push("hang", chat="1")
        await bot.settle()
        model.held[0].answer("done")
        await bot.channel.pop("b1")
        await bot.settle()
        assert running(bot) == {"1", "b2"}


async def test_a_lane_that_is_full_says_so_and_keeps_what_it_has(model: Hanging) -> None:
    async with gateway(model.provider, options=Options(lane_limit=2)) as bot:
        await bot.channel.push("hang")
        await bot.provider.asked(1)
        for number in range(3):
            await bot.channel.push(f"{number}", sender=MEMBER)
        assert "I did not take this message: 2 are waiting" in (await bot.channel.pop()).text
        model.held[0].answer("done")
        assert (await bot.channel.pop()).text == "done"
        assert (await bot.channel.pop()).text == "echo: 1"


# Fencing


async def test_a_driver_whose_lane_was_taken_writes_nothing_more(model: Hanging) -> None:
    async with gateway(model.provider) as bot:
        await bot.channel.push("hang")
        await bot.provider.asked(1)
        thief = Process(bot.home).journal
        taken = await thief.claim("fake:1", "unused", "UTC")
        assert taken is not None
        await thief.start_model(taken.lane, taken.run, [asking(2)], None)
        await thief.finish(taken.lane, taken.run, Ending(state=RunState.COMPLETED))
        before = bot.home.entries("fake:1")
        model.held[0].answer("too late")
        await bot.settle()
        assert bot.home.entries("fake:1") == before
        assert bot.channel.sent == []
        assert bot.worker.running == []


async def test_two_processes_never_drive_the_same_lane(model: Hanging) -> None:
    async with MemoryHome() as home, gateway(model.provider, home=home) as bot:
        await bot.channel.push("hang")
        await bot.provider.asked(1)
        assert await bot.journal.claim("fake:1", "unused", "UTC") is None


# Ends and beginnings


async def test_draining_waits_for_what_runs_and_takes_on_nothing_more(model: Hanging) -> None:
    async with MemoryHome() as home:
        async with gateway(model.provider, home=home) as bot:
            await bot.channel.push("hang", chat="1")
            await bot.provider.asked(1)
            assert not await bot.worker.drain(0.01)
            await bot.channel.push("later", chat="2")
            model.held[0].answer("just in time")
            assert await bot.worker.drain(5)
            assert (await bot.channel.pop()).text == "just in time"
            await bot.settle()
            assert len(bot.channel.sent) == 1
        async with gateway(model.provider, home=home) as again:
            assert (await again.channel.pop()).text == "echo: later"


async def test_what_is_given_back_costs_no_attempt_and_resumes_at_the_next_start() -> None:
    model = Hanging()
    async with MemoryHome() as home:
        channel = FakeChannel()
        async with gateway(model.provider, channel, home=home) as bot:
            await bot.channel.push("hang")
            await bot.provider.asked(1)
        for number in range(2, 8):
            async with gateway(model.provider, home=home) as bot:
                await bot.provider.asked(number)
                assert [run.attempts for run in bot.worker.running] == [1]
        async with gateway(model.provider, home=home) as bot:
            await bot.provider.asked(8)
            model.held[-1].answer("done")
            assert (await bot.channel.pop()).text == "done"
        home.verify("fake:1")


@pytest.mark.parametrize("verb", ["start_model", "record_reply", "start_tool", "finish"])
async def test_a_stop_while_a_run_waits_for_the_store_costs_no_attempt(verb: str) -> None:
    provider = ScriptedProvider(asks_for("look", text="x"), "done")
    tools, clock = [Recorder().tool("look")], ManualClock(instant=False)
    async with MemoryHome(clock) as home:
        async with gateway(provider, home=home, tools=tools) as bot:

            def full(which: str) -> None:
                if verb in which.split("+"):
                    raise StoreUnwritable("no space")

            bot.process.before = full
            await bot.channel.push("hello")
            await bot.settle()
            assert clock.sleeps[-1] == STORE_RETRY_SECONDS
            bot.process.before = lambda _: None  # there is space again
        (run,) = home.do(lambda c: c.execute(sa.text("SELECT attempts, state FROM runs")).all())
        assert (run.attempts, run.state) != (1, "completed")
        async with gateway(provider, home=home, tools=tools) as again:
            await again.channel.pop()
            assert home.do(lambda c: c.scalar(sa.text("SELECT attempts FROM runs"))) == 1


async def crash_with(home: MemoryHome, *chats: str) -> None:
    """A process that dies while it answers these chats."""
    model = Hanging()
    async with gateway(model.provider, home=home) as bot:
        for chat in chats:
            await bot.channel.push("hang", chat=chat, key=f"once-{chat}")
        await bot.settle()
        bot.crash()


async def test_runs_that_saw_two_crashes_go_one_after_another() -> None:
    async with MemoryHome() as home:
        await crash_with(home, "1", "2", "3")
        async with gateway(Hanging().provider, home=home) as bot:
            await bot.settle()
            assert running(bot) == {"1", "2", "3"}  # one crash says nothing about a run
            bot.crash()
        model = Hanging()
        async with gateway(model.provider, home=home) as bot:
            await bot.settle()
            assert len(running(bot)) == 1
            await bot.channel.push("me", chat="9")
            assert (await bot.channel.pop("9")).text == "echo: me"
            for number in range(3):
                model.held[number].answer("done")
                await answered(bot)
                assert len(running(bot)) == min(1, 2 - number)


async def test_after_three_unclean_ends_the_person_is_told_and_the_run_fails() -> None:
    async with MemoryHome() as home:
        for _ in range(3):
            await crash_with(home, "1")
        async with gateway(home=home) as bot:
            assert (await bot.channel.pop()).text.startswith("I gave up on this: I crashed 3 times")
            await bot.channel.push("something else")
            assert (await bot.channel.pop()).text == "echo: something else"


async def test_progress_between_crashes_starts_the_count_again() -> None:
    async with MemoryHome() as home:
        for _ in range(2):
            await crash_with(home, "1")
        async with gateway(ScriptedProvider(), home=home) as bot:
            assert (await bot.channel.pop()).text == "echo: hang"


async def test_what_came_while_nobody_ran_is_answered_at_the_next_start() -> None:
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            await bot.channel.until(lambda: bot.channel.runs > 0)
            bot.process.before = refuse_claims
            await bot.channel.push("hello")
            await bot.settle()
        async with gateway(home=home) as bot:
            assert (await bot.channel.pop()).text == "echo: hello"


def refuse_claims(verb: str) -> None:
    if verb == "claim":
        raise StoreUnwritable("the disk is full")


async def test_a_lane_that_cannot_be_claimed_is_tried_again(bot: FakeGateway) -> None:
    left = 3

    def before(verb: str) -> None:
        nonlocal left
        if verb == "claim" and left:
            left -= 1
            raise StoreUnwritable("the disk is full")

    bot.process.before = before
    await bot.channel.push("hello")
    assert (await bot.channel.pop()).text == "echo: hello"
    assert left == 0


async def test_a_lane_is_driven_again_after_an_exception_that_nobody_foresaw() -> None:
    async with gateway() as bot:
        left = 1

        def after(verb: str) -> None:
            nonlocal left
            if verb == "claim" and left:
                left -= 1
                raise RuntimeError("nobody foresaw this")

        bot.process.after = after
        await bot.channel.push("hello")
        async with asyncio.timeout(10):
            assert (await bot.channel.pop()).text == "echo: hello"


async def test_every_message_of_a_lane_is_its_own_entry(model: Hanging) -> None:
    async with gateway(model.provider) as bot:
        await bot.channel.push("hang")
        await bot.provider.asked(1)
        for text in ("a", "b"):
            await bot.channel.push(text)
        model.held[0].answer("done")
        await bot.channel.pop()
        await bot.channel.pop()
        assert [e.text for e in bodies(bot, UserEntry)] == ["hang", "a", "b"]


@pytest.mark.parametrize("policy", ["sender", "chat"])
async def test_by_policy_the_people_of_a_chat_share_a_lane_or_have_their_own(policy: str) -> None:
    model = Hanging()
    options = Options(policy="sender" if policy == "sender" else "chat")
    async with gateway(model.provider, options=options) as bot:
        await bot.channel.push("hang")
        await bot.provider.asked(1)
        await bot.channel.push("hello", sender=MEMBER)
        await bot.settle()
        assert len(bot.channel.sent) == (policy == "sender")
