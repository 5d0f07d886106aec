"""While a model writes, its chat sees it, in the message that becomes the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from nanobot.agent.settings import RunSettings
from nanobot.channels.host import Hosting
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.config.settings.channels import ChannelSettings
from nanobot.errors import (
    ChatGone,
    ModelUnreachable,
    NotSent,
    OutcomeUnknown,
    Refused,
    StoreUnwritable,
)
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.store import outbox
from nanobot.plugins.progress.previews import CURSOR, FIRST_INTERVAL, PREVIEW_AFTER
from nanobot.ports import Capabilities, OutboundPart
from nanobot.providers.base import Completion, ToolCall
from nanobot.store.journal.outbox import STOPPED_LINE
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from nanobot.testing.platform import FakeChannel, FakePlatform
from tests.agent.tooling import Gate, Recorder
from tests.channels.seeing import clock_of, seen, standing, states
from tests.stored import outbox_of

SHOWN = f"I think {CURSOR}"
ERRORS = [NotSent("429", retry_after=3), NotSent("503"), Refused("bad"), ChatGone("blocked")]


async def pass_seconds(bot: FakeGateway, seconds: float) -> None:
    for _ in range(int(seconds * 2)):
        clock_of(bot).advance(0.5)
        await bot.settle()


async def asked(bot: FakeGateway, held: Held, seconds: float = 2) -> None:
    """A question that the model works on for some time."""
    await bot.channel.push("hello")
    await held.reached.wait()
    await pass_seconds(bot, seconds)


@asynccontextmanager
async def thinking() -> AsyncIterator[tuple[FakeGateway, Held, FakePlatform]]:
    """A model has begun an answer, and works on."""
    held, platform = Held("I think"), FakePlatform()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held)
        yield bot, held, platform


async def settled(bot: FakeGateway, held: Held, text: str = "I think so.") -> None:
    """The answer comes, and is all that a person sees."""
    held.answer(text)
    await bot.settle()
    assert seen(bot) == [text]


# What is seen


async def test_a_preview_becomes_the_answer() -> None:
    async with thinking() as (bot, held, platform):
        assert seen(bot) == [SHOWN]
        await settled(bot, held)
        assert len(platform.attempts) == 1
        assert states(bot) == ["sent"]


async def test_an_answer_and_its_preview_reply_to_their_question() -> None:
    class Platform(FakePlatform):
        replies: tuple[str | None, ...] = ()

        def render(self, message: OutboundMessage) -> list[OutboundPart]:
            self.replies += (message.reply_to,)
            return super().render(message)

    held, platform = Held("I think"), Platform()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        question = await platform.push("hello")
        await held.reached.wait()
        await pass_seconds(bot, 2)
        held.answer("I think so.")
        await bot.settle()
        assert set(platform.replies) == {question.message_id}
        assert len(platform.replies) > 1


async def test_what_comes_within_a_second_costs_no_preview() -> None:
    held, platform = Held("I think"), FakePlatform()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held, PREVIEW_AFTER - 0.5)
        await settled(bot, held)
        assert platform.edits == []
        assert "preview" not in bot.process.verbs


async def test_before_the_model_says_something_nothing_is_shown() -> None:
    held, platform = Held(), FakePlatform()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held, 10)
        assert seen(bot) == []
        held.answer("At last.")
        await bot.settle()
        assert seen(bot) == ["At last."]


async def test_a_preview_is_renewed_less_often_than_its_text_grows(platform: FakePlatform) -> None:
    """Each version of a long answer is kept for a while, at first the shortest one."""
    async with (
        standing() as home,
        gateway(channel=platform, home=home, options=Options(hosting=Hosting())) as bot,
    ):
        words = iter(range(10_000))
        held = Held("0")
        bot.provider.script.append(held)
        await bot.channel.push("count")
        await held.reached.wait()
        for _ in range(60):
            held.say(f" {next(words)}")
            await pass_seconds(bot, 0.5)
        assert 5 < len(platform.edits) < 30 / FIRST_INTERVAL
        held.answer("Done.")
        await bot.settle()
        assert seen(bot) == ["Done."]


async def test_an_answer_longer_than_a_message_begins_in_the_preview() -> None:
    held, platform = Held("I think"), FakePlatform(limit=10)
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held)
        assert seen(bot) == [SHOWN[:10]]
        held.answer("I think that is so.")
        await bot.settle()
        assert seen(bot) == ["I think th", "at is so."]


@pytest.mark.parametrize(("platform", "preview"), [(FakeChannel(), True), (FakePlatform(), False)])
async def test_without_editing_or_by_choice_there_is_none(
    platform: FakeChannel, *, preview: bool
) -> None:
    held, options = (
        Held("I think"),
        Options(hosting=Hosting(settings=ChannelSettings(type="fake", preview=preview))),
    )
    provider = ScriptedProvider(held)
    async with standing() as home, gateway(provider, platform, home=home, options=options) as bot:
        await asked(bot, held, 5)
        assert seen(bot) == []
        await settled(bot, held)


async def test_the_tool_at_work_is_shown_where_that_is_wanted() -> None:
    gate, platform = Gate(), FakePlatform()
    options = Options(hosting=Hosting(settings=ChannelSettings(type="fake", show_tools=True)))
    provider = ScriptedProvider(asks_for("exec", text="ls -la"), "Done.")
    async with (
        standing() as home,
        gateway(
            provider, platform, tools=[Recorder().tool(then=gate)], home=home, options=options
        ) as bot,
    ):
        await bot.channel.push("hello")
        await gate.reached.wait()
        await pass_seconds(bot, 3)
        assert seen(bot) == ["`exec: ls -la`"]
        gate.open.set()
        await bot.settle()
        assert seen(bot) == ["Done."]


async def test_what_was_said_before_a_question_stays_and_the_answer_comes_behind_it() -> None:
    held, platform, recorder = Held("I shall"), FakePlatform(), Recorder()
    acts = msgspec.structs.replace(recorder.tool("act"), risk="high", danger=lambda _: "it acts")
    call = Completion(text="I shall act.", tool_calls=(ToolCall("c", "act", '{"text":"now"}'),))
    async with (
        standing() as home,
        gateway(ScriptedProvider(held, "Done."), platform, tools=[acts], home=home) as bot,
    ):
        await asked(bot, held)
        held.answer(call)
        await bot.settle()
        first, question = seen(bot)
        assert first == "I shall act."
        assert "May I do this?" in question
        await bot.channel.push("/approve 1")
        await bot.settle()
        text, decided, *_, answer = seen(bot)
        assert (text, answer) == (first, "Done.")
        assert decided.startswith(question.partition("\n")[0])
        assert recorder.calls == ["act now"]
        assert set(states(bot)) == {"sent"}


# What goes wrong


@pytest.mark.parametrize("error", ERRORS)
async def test_a_preview_that_is_not_taken_ends_them_for_this_run(error: Exception) -> None:
    held, platform = Held("I think"), FakePlatform()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        platform.fail(error, *([error] if isinstance(error, Refused) else []))
        await asked(bot, held, 60)
        assert seen(bot) == []
        assert len(platform.attempts) <= 2
        await settled(bot, held)
        assert states(bot) == ["sent"]


@pytest.mark.parametrize("error", ERRORS)
async def test_an_edit_that_is_not_taken_ends_them_and_the_answer_arrives(
    error: Exception,
) -> None:
    async with thinking() as (bot, held, platform):
        platform.edit_failures.extend([error] * 2)
        held.say(" so")
        await pass_seconds(bot, 5)
        platform.edit_failures.clear()
        held.say(", because")
        await pass_seconds(bot, 60)
        assert platform.edits == []
        await settled(bot, held)


async def test_where_no_edit_is_ever_taken_two_runs_have_a_preview_and_then_none() -> None:
    """Each would stay beside its answer, in a chat of a server that knows no edits."""
    helds = [Held(f"I think {number}") for number in range(4)]
    platform = FakePlatform()
    async with standing() as home, gateway(ScriptedProvider(*helds), platform, home=home) as bot:
        for number, held in enumerate(helds):
            platform.edit_failures.extend([Refused("unknown method")] * 20)
            platform.delete_failures.extend([Refused("unknown method")] * 20)
            await bot.channel.push("hello", chat="2" if number == 3 else "1")
            await held.reached.wait()
            await pass_seconds(bot, 2)
            held.say(" so")
            await pass_seconds(bot, 5)
            platform.edit_failures.clear()
            platform.edit_failures.extend([Refused("unknown method")] * 2)
            held.answer(f"I think {number} so.")
            await bot.settle()
        texts = seen(bot)
    assert [text for text in texts if text.endswith("so.")] == [
        f"I think {n} so." for n in range(4)
    ]
    assert [text for text in texts if text.endswith(CURSOR)] == [
        f"I think {number} {CURSOR}" for number in (0, 1, 3)
    ]


async def test_an_edit_that_is_taken_makes_up_for_one_that_was_not() -> None:
    helds = [Held(f"I think {number}") for number in range(4)]
    platform = FakePlatform()
    async with standing() as home, gateway(ScriptedProvider(*helds), platform, home=home) as bot:
        for number, held in enumerate(helds):
            platform.edit_failures.extend([Refused("gone")] * (2 if number % 2 == 0 else 0))
            await asked(bot, held)
            held.say(" so")
            await pass_seconds(bot, 5)
            held.answer(f"I think {number} so.")
            await bot.settle()
        assert seen(bot) == [f"I think {number} so." for number in range(4)]
        assert len(platform.edits) >= 4


async def test_a_preview_that_cannot_be_edited_is_deleted_when_its_answer_is_sent() -> None:
    async with thinking() as (bot, held, platform):
        platform.edit_failures.extend([Refused("message can't be edited")] * 2)
        await settled(bot, held)
        assert states(bot) == ["sent"]


@pytest.mark.parametrize("crashes", [False, True])
async def test_words_of_a_discarded_attempt_are_marked_when_the_next_one_asks(
    crashes: bool,
) -> None:
    """The stream breaks, or the process dies, after a preview; the model is asked again, says
    nothing, and makes a call that a person has to allow."""
    acts = msgspec.structs.replace(Recorder().tool("act"), risk="high", danger=lambda _: "it acts")
    call = Completion(text="", tool_calls=(ToolCall("c", "act", '{"text":"now"}'),))
    held, platform = Held("I think"), FakePlatform()
    options = Options(settings=RunSettings(fallback_models=("test/second",)))
    async with standing() as home:
        provider = ScriptedProvider(held, call)
        async with gateway(provider, platform, tools=[acts], home=home, options=options) as bot:
            await asked(bot, held)
            if crashes:
                bot.crash()
            else:
                held.answer(ModelUnreachable("the stream broke"))
                await pass_seconds(bot, 30)
            await bot.settle()
        if crashes:
            async with gateway(ScriptedProvider(call), platform, tools=[acts], home=home) as bot:
                await pass_seconds(bot, 30)
        half, question = (message.text for message in platform.sent)
        assert half == f"I think\n\n{STOPPED_LINE}"
        assert "May I do this?" in question


async def test_an_answer_whose_preview_is_gone_is_sent_anew() -> None:
    async with thinking() as (bot, held, platform):
        platform.sent.clear()
        await settled(bot, held)
        assert states(bot) == ["sent"]


async def test_a_last_edit_of_unknown_outcome_is_made_again() -> None:
    async with thinking() as (bot, held, platform):
        platform.edit_failures.extend([OutcomeUnknown("no answer"), NotSent("503")])
        held.answer("I think so.")
        await bot.settle()
        await pass_seconds(bot, 10)
        assert seen(bot) == ["I think so."]


@pytest.mark.parametrize(("reconciles", "last"), [(True, ""), (False, f"\n\n{REPEAT_LINE}")])
async def test_a_preview_that_may_have_arrived_is_looked_up_or_the_answer_says_so(
    *, reconciles: bool, last: str
) -> None:
    held = Held("I think")
    platform = FakePlatform(capabilities=Capabilities(reconciles=reconciles))
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        platform.fail(OutcomeUnknown("no answer"), applied=True)
        await asked(bot, held, 10)
        assert seen(bot) == [SHOWN]
        held.answer("I think so.")
        await bot.settle()
        assert seen(bot) == ([] if reconciles else [SHOWN]) + [f"I think so.{last}"]


async def test_before_an_answer_of_several_messages_the_line_stands_ahead() -> None:
    held, platform = Held("I think"), FakePlatform()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        platform.fail(OutcomeUnknown("no answer"), applied=True)
        await asked(bot, held, 10)
        held.answer("I think " + "so " * 2_000)
        await platform.until(lambda: len(platform.sent) == 4)
        await bot.settle()
        shown, line, first, second = seen(bot)
        assert (shown, line) == (SHOWN, REPEAT_LINE)
        assert (first + second).split() == ["I", "think", *["so"] * 2_000]
        assert states(bot) == ["sent"]
        assert len({message.key for message in platform.sent[1:]}) == 3


async def test_a_store_that_fails_costs_the_preview_and_not_the_answer() -> None:
    held, platform = Held("I think"), FakePlatform()

    def full(verb: str) -> None:
        if verb == "preview":
            raise StoreUnwritable("the disk is full")

    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        bot.process.before = full
        await asked(bot, held, 10)
        assert seen(bot) == []
        await settled(bot, held)


async def test_an_answer_waits_for_the_preview_that_is_on_its_way() -> None:
    class Slow(FakePlatform):
        go = asyncio.Event()
        sending = asyncio.Event()

        async def send(self, *part: object, **how: object) -> str:
            self.sending.set()
            await self.go.wait()
            return await super().send(*part, **how)  # type: ignore[arg-type]

    held, platform = Held("I think"), Slow()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        await asked(bot, held)
        assert platform.sending.is_set()
        held.answer("I think so.")
        await bot.settle()
        assert seen(bot) == []
        platform.go.set()
        await bot.settle()
        assert seen(bot) == ["I think so."]
        assert len(platform.attempts) == 1


# Ends


async def test_a_run_that_is_stopped_says_so_where_it_stood() -> None:
    async with thinking() as (bot, _held, _platform):
        await bot.channel.push("/stop")
        await bot.settle()
        assert seen(bot) == [f"I think\n\n{STOPPED_LINE}", "Stopped."]
        assert states(bot) == ["sent", "sent"]


async def test_a_run_that_fails_says_so_where_it_stood() -> None:
    async with thinking() as (bot, held, _platform):
        held.answer(KeyError("a bug"))
        await bot.settle()
        (text,) = seen(bot)
        assert "Something went wrong" in text


async def test_after_a_crash_the_same_message_goes_on(platform: FakePlatform) -> None:
    async with standing() as home:
        first, second = Held("I think"), Held("I believe")
        async with gateway(ScriptedProvider(first), platform, home=home) as bot:
            await asked(bot, first)
            bot.crash()
            await bot.settle()
        async with gateway(ScriptedProvider(second), platform, home=home) as bot:
            await second.reached.wait()
            await pass_seconds(bot, 2)
            assert seen(bot) == [f"I believe {CURSOR}"]
            second.answer("I believe so.")
            await bot.settle()
            assert seen(bot) == ["I believe so."]
            assert len(platform.attempts) == 1


@pytest.mark.parametrize("verb", ["preview", "receipt", "finish", "begin_send"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_around_a_preview_shows_the_answer_once(verb: str, when: str) -> None:
    platform = FakePlatform(capabilities=Capabilities(reconciles=True))
    async with standing() as home:
        held, again = Held("I think"), Held("I think")
        async with gateway(ScriptedProvider(held), platform, home=home) as bot:

            def crash(name: str) -> None:
                if name == verb:
                    bot.crash()

            setattr(bot.process, when, crash)
            await asked(bot, held)
            if not bot.process.dead:
                held.answer("I think so.")
            await bot.settle()
            await pass_seconds(bot, 2)
            assert bot.process.dead
        async with gateway(ScriptedProvider(again), platform, home=home) as bot:
            await pass_seconds(bot, 3)
            if again.reached.is_set():
                again.answer("I think so.")
            await pass_seconds(bot, 3)
            assert seen(bot) == ["I think so."]
            assert states(bot) == ["sent"]


async def test_other_messages_of_the_chat_go_out_meanwhile() -> None:
    async with thinking() as (bot, held, _platform):
        address = Address("fake", "1")
        message = OutboundMessage(address=address, text="ping", key="p", kind=OutboundKind.POST)
        await bot.journal.post("fake:1", message)
        bot.bus.owed(address)
        await bot.settle()
        assert seen(bot) == [SHOWN, "ping"]
        held.answer("I think so.")
        await bot.settle()
        assert seen(bot) == ["I think so.", "ping"]


async def test_what_was_owed_to_the_chat_before_comes_before_the_preview() -> None:
    held, platform = Held("I think"), FakePlatform()
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        platform.fail(*[NotSent("503")] * 5)
        address = Address("fake", "1")
        message = OutboundMessage(address=address, text="late", key="p", kind=OutboundKind.POST)
        await bot.journal.post("fake:1", message)
        bot.bus.owed(address)
        await asked(bot, held, 4)
        assert seen(bot) == []
        await pass_seconds(bot, 30)
        assert seen(bot) == ["late", SHOWN]


async def test_a_dead_answer_that_had_a_preview_can_be_sent_again() -> None:
    async with thinking() as (bot, held, platform):
        platform.edit_failures.append(ChatGone("blocked"))
        held.answer("I think so.")
        await bot.settle()
        assert states(bot) == ["dead"]
        assert seen(bot) == [SHOWN]
        (row,) = bot.home.do(lambda connection: outbox.listing(connection, "dead", 1))
        assert await outbox_of(bot.records).retry(row.id) == Address("fake", "1")
        bot.bus.owed(Address("fake", "1"))
        await bot.settle()
        assert (seen(bot), states(bot)) == (["I think so."], ["sent"])


@pytest.mark.parametrize("arrived", [True, False])
async def test_a_preview_in_doubt_stays_so_while_it_cannot_be_looked_up(arrived: bool) -> None:
    held, platform = Held("I think"), FakePlatform(capabilities=Capabilities(reconciles=True))
    async with standing() as home, gateway(ScriptedProvider(held), platform, home=home) as bot:
        platform.fail(OutcomeUnknown("cut"), applied=arrived)
        platform.lookups.extend([NotSent("429", retry_after=1), NotSent("503")])
        await asked(bot, held)
        held.answer("I think so.")
        await pass_seconds(bot, 5)
        assert seen(bot) == ["I think so."]
        assert states(bot) == ["sent"]
