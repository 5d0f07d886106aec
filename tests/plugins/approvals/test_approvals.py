"""A person's word: asked for, waited for as a row, given, refused, late, or not needed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.messages import EventKind, Origin
from nanobot.plugins.common.views.shown_calls import shown_call
from nanobot.providers.base import Completion, ToolCall
from nanobot.session.entries import ApprovalEntry, DecisionEntry, ToolResultEntry, UserEntry
from nanobot.session.states import RunKind, RunState
from nanobot.store.database import schema
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.model import ScriptedProvider, asks_for, last_text
from nanobot.testing.platform import MEMBER, OWNER
from nanobot.tools.base import AnyTool, Effect
from tests.agent.tooling import Recorder, bodies

DAY = 86_400.0


def risky(recorder: Recorder) -> list[AnyTool]:
    return [msgspec.structs.replace(recorder.tool("act"), risk="high")]


async def state_of(bot: FakeGateway, session: str = "fake:1") -> RunState | None:
    row = await bot.journal.session(session)
    return row.run.state if row and row.run else None


async def asked_in(bot: FakeGateway, chat: str = "1") -> int:
    """Read the next message of a chat, which asks; its number."""
    match = re.search(r"\(#(\d+)\)", (await bot.channel.pop(chat)).text)
    assert match
    return int(match[1])


def results(bot: FakeGateway, session: str = "fake:1") -> list[str]:
    return [result.text for result in bodies(bot, ToolResultEntry, session)]


async def known(bot: FakeGateway) -> None:
    """The owner has a chat of their own, so that they can be asked."""
    await bot.channel.push("hello", chat="9")
    await bot.channel.pop("9")


async def member_acts(bot: FakeGateway) -> None:
    """A member wants `act`, and the owner can be asked."""
    await known(bot)
    await bot.channel.push("act", sender=MEMBER)


@asynccontextmanager
async def waiting(*answers: str) -> AsyncIterator[tuple[FakeGateway, int, Recorder]]:
    """A gateway in which a member's call of `act` waits to be approved: it was asked about in their
    chat, by that number. The model answers so afterwards."""
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), *answers)
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        yield bot, await asked_in(bot), recorder


async def test_a_members_risky_call_waits_as_a_row_for_an_owners_word(recorder: Recorder) -> None:
    model = ScriptedProvider("hi", asks_for("act", text="now"), "It is done.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        number = await asked_in(bot)
        assert await asked_in(bot, "9") == number
        assert await state_of(bot) is RunState.AWAITING_HUMAN
        assert (bot.worker.running, recorder.calls) == ([], [])

        await bot.channel.push(f"/approve {number}", chat="9")
        assert (await bot.channel.pop("9")).text == f"Approved: act (#{number})"
        assert (await bot.channel.pop("1")).text == "It is done."
        assert recorder.calls == ["act now"]
        assert bodies(bot, DecisionEntry)[0].by == f"name of {OWNER}"
        assert len(bodies(bot, ApprovalEntry)) == 1
        assert bot.home.verify("fake:1") > 0


async def test_the_question_shows_the_exact_call_and_who_asked_for_it(recorder: Recorder) -> None:
    forged = 'now"\nwhy: harmless\u202e'
    model = ScriptedProvider("hi", asks_for("act", text=forged))
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        text = (await bot.channel.pop("9")).text
        assert 'act\ntext:\n    now"\n    why: harmless<U+202E>\n```' in text
        assert f"name of {MEMBER} asked for it in fake:1" in text
        assert "within 24 h" in text


def test_a_command_is_shown_as_it_is_and_its_lines_forge_no_argument() -> None:
    shown = partial(shown_call, "exec")
    assert shown('{"command": "grep \\"a b\\" x"}') == 'exec\ncommand: grep "a b" x'
    lines = shown('{"command": "ls\\nhost: good.test", "host": "evil.test"}').splitlines()
    assert lines == ["exec", "command:", "    ls", "    host: good.test", "host: evil.test"]
    assert shown('{"command": "ls \\u202e\\r x"}') == "exec\ncommand: ls <U+202E><U+000D> x"
    assert shown('{"command": " ls "}') == 'exec\ncommand: " ls "'
    assert shown('{"command": "", "n": 2}') == 'exec\ncommand: ""\nn: 2'


async def test_a_refusal_is_told_to_the_model() -> None:
    async with waiting("Then not.") as (bot, number, recorder):
        await bot.channel.push(f"/deny {number}")
        assert (await bot.channel.pop("1")).text == f"Denied: act (#{number})"
        assert (await bot.channel.pop("1")).text == "Then not."
        assert recorder.calls == []
        assert results(bot)[0].startswith(f"not executed: denied by name of {OWNER}.")


@pytest.mark.parametrize("word", ["yes", "OK.", "approve", "好的", "👍🏽"])
async def test_a_plain_yes_approves_what_the_chat_waits_for(word: str) -> None:
    async with waiting("done") as (bot, number, recorder):
        await bot.channel.push(word)
        assert (await bot.channel.pop("1")).text == f"Approved: act (#{number})"
        assert (await bot.channel.pop("1")).text == "done"
        assert recorder.calls == ["act"]


@pytest.mark.parametrize("word", ["No!", "deny", "不行", "👎"])
async def test_a_plain_no_denies_it(word: str) -> None:
    async with waiting("Then not.") as (bot, number, recorder):
        await bot.channel.push(word)
        assert (await bot.channel.pop("1")).text == f"Denied: act (#{number})"
        assert recorder.calls == []


APPROVING, DENYING = ("👍", "👍🏿", "✅", "✔️"), ("👎", "❌", "✖️")


async def reacting(bot: FakeGateway, emoji: str, to: str, sender: str = OWNER, **more: Any) -> None:
    await bot.channel.push(emoji, sender=sender, reply_to=to, reaction=True, **more)


@pytest.mark.parametrize("emoji", [*APPROVING, *DENYING])
async def test_a_thumb_or_a_mark_under_the_question_decides_without_a_word_more(emoji: str) -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), "That is it.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        here, question = await bot.channel.pop("1"), await bot.channel.pop("9")
        assert "(#1)" in question.text
        await reacting(bot, emoji, question.id, chat="9")
        assert (await bot.channel.pop("1")).text == "That is it."
        assert recorder.calls == (["act"] if emoji in APPROVING else [])
        assert bodies(bot, DecisionEntry)[0].by == f"name of {OWNER}"
        await reacting(bot, "👎", here.id)
        await reacting(bot, "👍", here.id)
        assert len(bodies(bot, DecisionEntry)) == 1


async def test_what_decides_nothing_under_a_question_or_elsewhere_is_not_heard_of() -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), "done")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        question = await bot.channel.pop("1")
        first = await bot.channel.pop("9")
        sent = len(bot.channel.sent)
        await reacting(bot, "👍", question.id, sender=MEMBER)
        await reacting(bot, "👍", question.id, sender="4711")
        await reacting(bot, "👍", "m1")
        await reacting(bot, "👍", question.id, chat="9")
        await reacting(bot, "👍", "")
        for emoji in ("🎉", "❤", "yes", "", "👍👎", "/approve 1"):
            await reacting(bot, emoji, first.id, chat="9")
        assert await state_of(bot) is RunState.AWAITING_HUMAN
        assert (recorder.calls, len(bot.channel.sent)) == ([], sent)
        kept = bot.home.do(lambda at: at.execute(sa.select(schema.inbound.c.id)).all())
        assert len(kept) == 2


async def test_a_run_that_went_on_takes_a_thumb_too_and_a_question_in_words_none() -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), "I go on.", "It is done.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        question = await bot.channel.pop("1")
        await bot.channel.push("and?", sender=MEMBER)
        assert "still waits" in (await bot.channel.pop("1")).text
        assert (await bot.channel.pop("1")).text.startswith("I go on.")
        await reacting(bot, "👍", question.id)
        assert (await bot.channel.pop("1")).text == "It is done."
        assert recorder.calls == ["act"]


@pytest.mark.parametrize(
    ("said", "done"), [("yes", "Approved: act (#1)"), ("no", "Denied: act (#1)")]
)
async def test_a_yes_after_still_waits_decides_what_waits(said: str, done: str) -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), "It waits for you.", "Hello.", "It is done.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        number = await asked_in(bot)
        await bot.channel.push("hello")
        assert (await bot.channel.pop("1")).text.startswith(f"#{number} still waits")
        assert (await bot.channel.pop("1")).text == "It waits for you."
        assert (await bot.channel.pop("1")).text == "Hello."
        await bot.channel.push(said)
        assert (await bot.channel.pop("1")).text == done
        await bot.settle()
        assert recorder.calls == (["act"] if said == "yes" else [])
        assert not any(last_text(request) == said for request in model.requests)


@pytest.mark.parametrize("between", ["Shall I look it up?", "要我查一下吗？"])
async def test_a_yes_to_another_question_does_not_approve_what_still_waits(between: str) -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), "It waits.", between, "I look it up.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        await asked_in(bot)
        await bot.channel.push("and the weather")
        for _ in range(3):
            await bot.channel.pop("1")
        await bot.channel.push("yes")
        assert (await bot.channel.pop("1")).text == "I look it up."
        assert recorder.calls == []


async def test_a_yes_in_the_owners_chat_counts_right_after_the_question_there() -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), "done")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        number = await asked_in(bot, "9")
        await bot.channel.push("yes", chat="9")
        assert (await bot.channel.pop("9")).text == f"Approved: act (#{number})"
        await bot.settle()
        assert recorder.calls == ["act"]


async def test_once_something_else_was_said_in_the_owners_chat_a_yes_there_is_a_message() -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), "Shall I go on?", "I go on.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        await asked_in(bot, "9")
        bot.home.clock.advance(1.0)  # type: ignore[attr-defined]
        await bot.channel.push("how are you?", chat="9")
        assert (await bot.channel.pop("9")).text == "Shall I go on?"
        await bot.channel.push("yes", chat="9")
        assert (await bot.channel.pop("9")).text == "I go on."
        assert recorder.calls == []


async def test_a_yes_of_somebody_who_may_not_decide_or_when_nothing_waits_is_a_message() -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", "Yes what?", asks_for("act"), "It waits.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await known(bot)
        await bot.channel.push("yes")
        assert (await bot.channel.pop("1")).text == "Yes what?"
        await bot.channel.push("act", sender=MEMBER)
        number = await asked_in(bot)
        await bot.channel.push("yes", sender=MEMBER)
        assert (await bot.channel.pop("1")).text.startswith(f"#{number} still waits: /approve")
        assert recorder.calls == []


async def test_the_first_answer_counts_and_others_are_told_politely() -> None:
    async with waiting("done") as (bot, number, recorder):
        await bot.channel.push(f"/approve {number}")
        assert (await bot.channel.pop("1")).text.startswith("Approved")
        assert (await bot.channel.pop("1")).text == "done"
        for late in ("approve", "deny"):
            await bot.channel.push(f"/{late} {number}")
            text = (await bot.channel.pop("1")).text
            assert text == f"#{number} was already approved by name of {OWNER}."
        assert recorder.calls == ["act"]


async def test_who_may_not_decide_is_told_so_and_decides_nothing() -> None:
    async with waiting() as (bot, number, _recorder):
        await bot.channel.push(f"/approve {number}", sender=MEMBER)
        assert (await bot.channel.pop("1")).text == f"You may not decide #{number}."
        await bot.channel.push(f"/approve {number} always", sender=MEMBER)
        assert "Only owners" in (await bot.channel.pop("1")).text
        await bot.channel.push("/approve 77")
        assert (await bot.channel.pop("1")).text.startswith("There is no approval #77")
        assert await state_of(bot) is RunState.AWAITING_HUMAN


async def test_later_calls_of_a_reply_wait_and_earlier_ones_are_made(recorder: Recorder) -> None:
    tools = [*risky(recorder), recorder.tool("look", Effect.NONE)]
    three = Completion(
        text="",
        tool_calls=tuple(
            ToolCall(f"c{n}", name, "{}") for n, name in enumerate(["look", "act", "look"])
        ),
    )
    async with gateway(ScriptedProvider("hi", three, "done"), tools=tools) as bot:
        await member_acts(bot)
        number = await asked_in(bot)
        assert recorder.calls == ["look"]
        await bot.channel.push(f"/approve {number}", chat="9")
        assert (await bot.channel.pop("1")).text == "done"
        assert recorder.calls == ["look", "act", "look"]


async def test_what_nobody_approves_in_time_is_refused() -> None:
    async with waiting("Nobody said yes.") as (bot, number, recorder):
        bot.home.clock.advance(DAY)  # type: ignore[attr-defined]
        bot.bus.wake("fake:1", RunKind.CHAT)
        assert (await bot.channel.pop("1")).text == "Nobody said yes."
        assert results(bot) == ["not executed: nobody approved it within 24 h"]
        await bot.channel.push(f"/approve {number}")
        assert (await bot.channel.pop("1")).text.startswith(f"#{number} has expired")
        assert recorder.calls == []


async def test_a_restart_finds_what_waits_and_what_has_waited_long_enough() -> None:
    recorder = Recorder()
    model = ScriptedProvider("hi", asks_for("act"), asks_for("act"), "one", "two")
    async with MemoryHome() as home:
        async with gateway(model, tools=risky(recorder), home=home) as bot:
            await known(bot)
            for chat in ("1", "2"):
                await bot.channel.push("act", sender=MEMBER, chat=chat)
                await asked_in(bot, chat)
        async with gateway(model, tools=risky(recorder), home=home) as bot:
            assert await state_of(bot) is RunState.AWAITING_HUMAN
            await bot.channel.push("/approve 1", chat="9", key="after the restart")
            assert (await bot.channel.pop("1")).text == "one"
            assert recorder.calls == ["act"]
        home.clock.advance(DAY)  # type: ignore[attr-defined]
        async with gateway(model, tools=risky(recorder), home=home) as bot:
            assert (await bot.channel.pop("2")).text == "two"
            assert results(bot, "fake:2") == ["not executed: nobody approved it within 24 h"]


# Meanwhile


async def test_a_message_meanwhile_is_seen_and_a_later_approval_makes_the_call() -> None:
    recorder = Recorder()
    call = asks_for("act", text="x")
    model = ScriptedProvider("hi", call, "Never mind, then.", "Now it is done.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        number = await asked_in(bot)
        await bot.channel.push("are you there?", sender=MEMBER)
        assert (await bot.channel.pop("1")).text.startswith(f"#{number} still waits: an owner")
        assert (await bot.channel.pop("1")).text.startswith("Never mind, then.")
        assert results(bot)[0].startswith(f"not yet approved (#{number})")
        assert last_text(model.requests[2]) == "are you there?"
        assert await state_of(bot) is None

        await bot.channel.push(f"/approve {number}", chat="9")
        assert (await bot.channel.pop("1")).text == "Now it is done."
        assert recorder.calls == ["act x"]
        last = model.requests[-1].messages[-2:]
        assert [message.role for message in last] == ["assistant", "tool"]
        assert last[1].content == "act did x"
        assert [entry.origin for entry in bodies(bot, UserEntry)][-1] is Origin.APPROVAL


async def test_somebody_elses_message_is_answered_after_the_run_goes_on() -> None:
    async with waiting("waits for approval", "hello owner") as (bot, number, _recorder):
        await bot.channel.push("hello")
        assert (await bot.channel.pop("1")).text.startswith(f"#{number} still waits: an owner")
        assert (await bot.channel.pop("1")).text == "waits for approval"
        assert (await bot.channel.pop("1")).text == "hello owner"


async def test_a_message_that_a_restart_finds_joins_the_run_too(recorder: Recorder) -> None:
    model = ScriptedProvider("hi", asks_for("act"), "I am here.")
    async with MemoryHome() as home:
        async with gateway(model, tools=risky(recorder), home=home) as bot:
            await member_acts(bot)
            number = await asked_in(bot)
            bot.process.after = lambda verb: bot.crash() if verb == "admit" else None
            with pytest.raises(Exception, match="dead"):
                await bot.channel.push("are you there?", sender=MEMBER)
        async with gateway(model, tools=risky(recorder), home=home) as bot:
            assert (await bot.channel.pop("1")).text.startswith(f"#{number} still waits: an owner")
            assert (await bot.channel.pop("1")).text.startswith("I am here.")
            assert last_text(model.requests[-1]) == "are you there?"


async def test_a_late_refusal_is_noted_for_the_model(recorder: Recorder) -> None:
    model = ScriptedProvider("hi", asks_for("act"), "later", "so it was refused")
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        number = await asked_in(bot)
        await bot.channel.push("well?", sender=MEMBER)
        assert (await bot.channel.pop("1")).text.startswith(f"#{number} still waits: an owner")
        await bot.channel.pop("1")
        await bot.channel.push(f"/deny {number}", chat="9")
        await bot.channel.pop("9")
        await bot.channel.push("and?", sender=MEMBER)
        assert (await bot.channel.pop("1")).text == "so it was refused"
        contents = [message.content for message in model.requests[-1].messages]
        assert f"[note from the gateway: #{number} (act) was denied by name of {OWNER}]" in contents
        assert recorder.calls == []


async def test_stop_ends_a_waiting_run_and_what_it_waits_for() -> None:
    async with waiting() as (bot, number, recorder):
        await bot.channel.push("/stop", sender=MEMBER)
        await bot.channel.pop("1")
        assert await state_of(bot) is None
        await bot.channel.push(f"/approve {number}")
        assert (await bot.channel.pop("1")).text == f"#{number} is void: its run was stopped."
        assert recorder.calls == []


# For good


async def test_always_allows_the_same_call_in_this_chat_and_no_other(recorder: Recorder) -> None:
    call = asks_for("act", text="x")
    model = ScriptedProvider("hi", call, "one", call, "two", asks_for("act", text="y"), "no", call)
    async with gateway(model, tools=risky(recorder)) as bot:
        await member_acts(bot)
        await bot.channel.push(f"/approve {await asked_in(bot)} always")
        await bot.channel.pop("1")
        assert (await bot.channel.pop("1")).text == "one"
        await bot.channel.push("again", sender=MEMBER)
        assert (await bot.channel.pop("1")).text == "two"
        assert recorder.calls == ["act x", "act x"]
        assert [entry.by for entry in bodies(bot, DecisionEntry)] == [f"name of {OWNER}", "rule 1"]
        await bot.channel.push("another", sender=MEMBER)
        await bot.channel.push(f"/deny {await asked_in(bot)}")
        await bot.channel.pop("1")
        await bot.channel.pop("1")
        await bot.channel.push("elsewhere", sender=MEMBER, chat="2")
        assert await asked_in(bot, "2") == await asked_in(bot, "1")
        await bot.channel.push("/policy rules")
        assert 'act, {"text": "x"}' in (await bot.channel.pop("1")).text
        await bot.channel.push("/policy forget 1")
        assert (await bot.channel.pop("1")).text.startswith("Revoked rule 1")


# Nobody


@pytest.mark.parametrize("origin", [Origin.CRON, Origin.USER])
async def test_where_nobody_can_answer_asking_is_a_refusal(origin: Origin) -> None:
    recorder = Recorder()
    model = ScriptedProvider(asks_for("act"), "I could not ask.")
    async with gateway(model, tools=risky(recorder)) as bot:
        await bot.channel.push("act", sender=MEMBER, origin=origin)
        assert (await bot.channel.pop("1")).text == "I could not ask."
        assert results(bot)[0].startswith("not executed: it needs a person's approval, and nobody")
        assert recorder.calls == []


async def test_watchers_are_told_that_it_waits(recorder: Recorder) -> None:
    model = ScriptedProvider("hi", asks_for("act", text="x"))
    async with gateway(model, tools=risky(recorder)) as bot:
        await known(bot)
        watching = bot.bus.subscribe("fake:1", frozenset({EventKind.APPROVAL}))
        await bot.channel.push("act", sender=MEMBER)
        await asked_in(bot)
        event = await anext(aiter(watching))
        assert event.payload["tool"] == "act"
        assert event.payload["arguments"] == '{"text":"x"}'
