"""A check may hold back an answer once: the model is asked again, whatever fails or crashes."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.runner import Check
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import Finish, StepLimits, may_object, next_step
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import ModelUnreachable, StoreError
from nanobot.plugins.budgets.settings import UNLIMITED
from nanobot.plugins.replay.replaying import replayed
from nanobot.providers.base import ModelRequest
from nanobot.session.entries import (
    Body,
    Entry,
    ModelCallEntry,
    ObjectionEntry,
    ReplyEntry,
    decode,
    encode,
)
from nanobot.session.runs import PromptSnapshot
from nanobot.store.database.durability import verbs_of
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options, gateway
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.agent.tooling import Recorder
from tests.plugins.budgets.ledgers import ledger
from tests.stored import runs_of

KEY = "fake:1"
WHY = "you did not send it"


async def objecting(active: ActiveRun) -> ObjectionEntry | None:
    """A check that finds every answer with the word `sent` wrong."""
    answer = active.entries[-1].body
    if isinstance(answer, ReplyEntry) and "sent" in answer.text:
        return ObjectionEntry(call=answer.call, text=WHY, by="a test")
    return None


def checked(check: Check | None = objecting, settings: RunSettings | None = None) -> Options:
    return Options(check=check, settings=settings or RunSettings())


def sent(bot: FakeGateway) -> list[str]:
    return [message.text for message in bot.channel.sent]


def kinds(bot: FakeGateway) -> list[str]:
    return [type(e.body).__name__.removesuffix("Entry") for e in bot.home.entries(KEY)]


async def test_the_model_is_told_and_its_next_answer_is_given_alone() -> None:
    model = ScriptedProvider("I sent it", "I have not done it yet")
    async with gateway(model, options=checked()) as bot:
        await bot.channel.push("send it")
        assert (await bot.channel.pop()).text == "I have not done it yet"
        assert model.requests[1].messages[-1].content == f"[note from the gateway: {WHY}]"
        assert model.requests[1].messages[-2].content == "I sent it"
        assert kinds(bot) == [
            *("User", "Prompt", "ModelCall", "Reply", "Objection", "ModelCall", "Reply")
        ]
        await bot.settle()
        assert sent(bot) == ["I have not done it yet"]


async def test_it_may_call_a_tool_first_and_what_it_says_then_is_given(recorder: Recorder) -> None:
    model = ScriptedProvider("I sent it", asks_for("exec", "", text="a"), "now it is sent")
    async with gateway(model, tools=[recorder.tool()], options=checked()) as bot:
        await bot.channel.push("send it")
        assert (await bot.channel.pop()).text == "now it is sent"
        assert recorder.calls == ["exec a"]
        assert kinds(bot).count("Objection") == 1


async def test_an_answer_that_insists_is_given_and_there_is_no_third_call() -> None:
    model = ScriptedProvider("I sent it", "I sent it, really")
    async with gateway(model, options=checked()) as bot:
        await bot.channel.push("send it")
        assert (await bot.channel.pop()).text == "I sent it, really"
        assert len(model.requests) == 2


async def test_without_a_check_or_an_objection_nothing_is_asked_or_written_more() -> None:
    for check in (None, objecting):
        model = ScriptedProvider("I sent it" if check is None else "fine")
        async with gateway(model, options=checked(check)) as bot:
            await bot.channel.push("send it")
            await bot.channel.pop()
            assert len(model.requests) == 1
            assert kinds(bot) == ["User", "Prompt", "ModelCall", "Reply"]


async def test_where_no_further_call_is_allowed_the_answer_is_given() -> None:
    model = ScriptedProvider("I sent it")
    options = checked(settings=RunSettings(limits=StepLimits(max_iterations=1)))
    async with gateway(model, options=options) as bot:
        await bot.channel.push("send it")
        assert (await bot.channel.pop()).text == "I sent it"
        assert "Objection" not in kinds(bot)


def test_a_second_answer_that_the_time_limit_cuts_leaves_the_first() -> None:
    bodies: list[Body] = [
        ReplyEntry(call=1, text="I sent it", ms=100),
        ObjectionEntry(call=1, text=WHY, by="a test"),
        ReplyEntry(call=2, text="I have", partial=True, cut_by_limit=True, ms=200),
    ]
    entries = [Entry(seq, "r", 0.0, body) for seq, body in enumerate(bodies, 1)]
    assert next_step("r", entries, StepLimits()) == Finish("I sent it")
    assert not may_object(bodies[:1], StepLimits(max_run_seconds=0.05))


async def test_if_the_model_fails_then_the_first_answer_is_given() -> None:
    model = ScriptedProvider("I sent it", ModelUnreachable("down"))
    async with gateway(model, options=checked()) as bot:
        await bot.channel.push("send it")
        assert (await bot.channel.pop()).text == "I sent it"
        (run,) = await runs_of(bot.records).listed(session=KEY, state="", limit=5)
        assert (run.state, run.error) == ("completed", None)


async def test_a_budget_that_allows_one_call_gives_the_first_answer() -> None:
    limits = msgspec.structs.replace(UNLIMITED, requests_per_day=1)
    model = ScriptedProvider("I sent it")
    options = msgspec.structs.replace(checked(), ledger=ledger(limits))
    async with gateway(model, options=options) as bot:
        await bot.channel.push("send it")
        assert (await bot.channel.pop()).text == "I sent it"
        assert len(model.requests) == 1


async def verbs_of_a_run() -> list[str]:
    async with gateway(ScriptedProvider("I sent it", "no"), options=checked()) as bot:
        await bot.channel.push("send it")
        await bot.channel.pop()
        await bot.settle()
        return [verb for name in bot.process.verbs for verb in verbs_of(name)]


def crash_at(bot: FakeGateway, when: str, verb: str, occurrence: int) -> None:
    """End the process before or after the nth commit of a verb."""
    left = occurrence

    def fate(now: str) -> None:
        nonlocal left
        left -= now == verb
        if now == verb and left == 0:
            bot.crash()

    setattr(bot.process, when, fate)


async def test_a_crash_at_any_verb_objects_once_and_answers_once() -> None:
    verbs = await verbs_of_a_run()
    counted = [(verb, verbs[: at + 1].count(verb)) for at, verb in enumerate(verbs)]
    points = [each for each in counted if each[0] in ("claim", "start_model", "record_result")]
    assert [verb for verb, _ in points] == ["claim", "start_model", "record_result", "start_model"]
    for when in ("before", "after"):
        for verb, occurrence in [*points, ("finish", 1)]:
            model = ScriptedProvider(otherwise=_by_what_it_was_told)
            async with MemoryHome() as home:
                async with gateway(model, home=home, options=checked()) as bot:
                    crash_at(bot, when, verb, occurrence)
                    with suppress(StoreError):
                        await bot.channel.push("send it", key="u1")
                    await bot.settle()
                    assert sent(bot) == []
                async with gateway(model, home=home, options=checked()) as bot:
                    await bot.channel.push("send it", key="u1")  # the platform brings it again
                    answer = (await bot.channel.pop()).text
                    in_doubt = (when, verb) == ("after", "finish")  # its send had begun
                    assert answer == "I have not" + f"\n\n{REPEAT_LINE}" * in_doubt
                    await bot.settle()
                    assert len(sent(bot)) == 1
                    assert kinds(bot).count("Objection") == 1
                    assert home.verify(KEY)
                    replay(home.entries(KEY), await prompts(bot))


def _by_what_it_was_told(request: ModelRequest) -> str:
    told = any(WHY in str(message.content) for message in request.messages)
    return "I have not" if told else "I sent it"


async def prompts(bot: FakeGateway) -> dict[str, PromptSnapshot]:
    calls = [e.body for e in bot.home.entries(KEY) if isinstance(e.body, ModelCallEntry)]
    found = {call.prompt: await bot.journal.snapshot(call.prompt) for call in calls}
    return {name: prompt for name, prompt in found.items() if prompt is not None}


def replay(entries: list[Entry], snapshots: dict[str, PromptSnapshot]) -> None:
    again = replayed(entries, snapshots)
    assert again.difference is None
    assert again.compared == 2
    assert again.skipped == ()


def test_an_objection_is_read_as_it_was_written() -> None:
    objection = ObjectionEntry(call=2, text="why", by="claims")
    assert decode(encode(objection)) == objection
