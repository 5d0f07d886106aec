"""One run: what it asks, does, records and owes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from nanobot.agent.prompt import PromptBuilder
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import INTERRUPTED, StepLimits
from nanobot.errors import (
    ContextOverflow,
    ModelError,
    ModelMissing,
    ModelProtocolError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
    ToolError,
)
from nanobot.messages import EventKind
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.providers.base import Completion, ModelProfile, ModelRequest, ToolCall, ToolSpec
from nanobot.session.entries import (
    CancelEntry,
    FailedEntry,
    ModelCallEntry,
    OverflowEntry,
    PromptEntry,
    ReplyEntry,
    ToolResultEntry,
    UserEntry,
)
from nanobot.session.runs import PromptSnapshot
from nanobot.store.database.durability import verbs_of, waits
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import Held, ScriptedProvider, asks_for, last_text
from nanobot.testing.platform import MEMBER
from nanobot.tools.base import Effect
from tests.agent.tooling import Args, Gate, Recorder, bodies, kinds
from tests.stored import choosing


async def test_a_plain_turn_is_four_transactions_of_which_two_wait_for_the_disk() -> None:
    async with gateway(ScriptedProvider("hi")) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "hi"
        await bot.settle()
        verbs = bot.process.verbs[bot.process.verbs.index("admit+claim") :]
        assert verbs == ["admit+claim", "start_model", "finish+begin_send", "receipt"]
        assert [verb for verb in verbs if waits([verb])] == ["admit+claim", "finish+begin_send"]
        assert kinds(bot) == ["User", "Prompt", "ModelCall", "Reply"]
        assert bot.home.verify("fake:1") == 4


async def test_a_tool_is_called_and_its_result_told(recorder: Recorder) -> None:
    model = ScriptedProvider(asks_for("exec", text="ls"), "Nothing found.")
    async with gateway(model, tools=[recorder.tool()]) as bot:
        await bot.channel.push("what is there?")
        assert (await bot.channel.pop()).text == "Nothing found."
        assert recorder.calls == ["exec ls"]
        assert last_text(model.requests[1]) == "exec did ls"
        assert kinds(bot)[3:] == ["Reply", "ToolStarted", "ToolResult", "ModelCall", "Reply"]
        (context,) = recorder.contexts
        assert (context.session_key, context.sender_id) == ("fake:1", "1001")
        assert context.key.endswith(":1:0")


async def test_a_call_is_announced_before_its_effect_and_recorded_right_after() -> None:
    recorder = Recorder()
    three = Completion(
        text="",
        tool_calls=tuple(ToolCall(f"c{n}", "exec", f'{{"text":"{n}"}}') for n in range(2)),
    )
    async with gateway(ScriptedProvider(three, "done"), tools=[recorder.tool()]) as bot:
        seen: list[list[str]] = []
        bot.process.before = lambda verb: seen.append([verb, *recorder.calls])
        await bot.channel.push("go")
        await bot.channel.pop()
        order = [row for row in seen if row[0] in ("start_tool", "record_result")]
        assert order == [
            ["start_tool"],
            ["record_result", "exec 0"],
            ["start_tool", "exec 0"],
            ["record_result", "exec 0", "exec 1"],
        ]


async def test_calls_without_an_effect_are_recorded_together(recorder: Recorder) -> None:
    two = Completion(
        text="", tool_calls=(ToolCall("a", "look", "{}"), ToolCall("b", "look", '{"text":"x"}'))
    )
    tool = recorder.tool("look", Effect.NONE)
    async with gateway(ScriptedProvider(two, "done"), tools=[tool]) as bot:
        await bot.channel.push("go")
        await bot.channel.pop()
        names = [name for verb in bot.process.verbs for name in verbs_of(verb)]
        assert names.count("record_result") == 1
        assert "start_tool" not in names


async def test_calls_without_an_effect_are_made_side_by_side_and_keep_their_order() -> None:
    recorder, met = Recorder(), asyncio.Barrier(8)

    async def meet(args: Args) -> str:
        await met.wait()
        return args.text

    look = recorder.tool("look", Effect.NONE, then=meet)
    calls = [ToolCall(f"c{n}", "look", f'{{"text":"{n}"}}') for n in range(16)]
    model = ScriptedProvider(Completion(text="", tool_calls=tuple(calls)), "done")
    async with gateway(model, tools=[look]) as bot:
        await bot.channel.push("go")
        await bot.channel.pop()
        texts = [r.text for r in bodies(bot, ToolResultEntry)]
        assert texts == [str(number) for number in range(16)]


async def test_a_call_with_an_effect_waits_for_those_before_it(recorder: Recorder) -> None:
    tools = [recorder.tool("look", Effect.NONE), recorder.tool("exec")]
    names = ("look", "look", "exec", "look")
    calls = tuple(ToolCall(f"c{n}", name, f'{{"text":"{n}"}}') for n, name in enumerate(names))
    async with gateway(
        ScriptedProvider(Completion(text="", tool_calls=calls), "done"), tools=tools
    ) as bot:
        await bot.channel.push("go")
        await bot.channel.pop()
        assert recorder.calls == ["look 0", "look 1", "exec 2", "look 3"]
        assert [r.index for r in bodies(bot, ToolResultEntry)] == [0, 1, 2, 3]


async def refusing(args: Args) -> str:
    raise ToolError("there is no such file: x")


async def broken(args: Args) -> str:
    raise KeyError("a fault of the tool's own")


async def timing_out(args: Args) -> str:
    raise TimeoutError("a socket's")


@pytest.mark.parametrize(
    ("then", "error"),
    [
        (refusing, "error: there is no such file: x"),
        (broken, "error: exec failed inside (KeyError)"),
        (timing_out, "error: exec failed inside (TimeoutError)"),
    ],
)
async def test_a_tool_that_fails_is_told_to_the_model_and_the_run_goes_on(
    then: object, error: str, recorder: Recorder
) -> None:
    tool = msgspec.structs.replace(recorder.tool(), run=lambda args, _: then(args))  # type: ignore[operator]
    model = ScriptedProvider(asks_for("exec"), "I could not.")
    async with gateway(model, tools=[tool]) as bot:
        await bot.channel.push("go")
        assert (await bot.channel.pop()).text == "I could not."
        assert last_text(model.requests[1]) == error
        (result,) = bodies(bot, ToolResultEntry)
        assert not result.ok


async def test_a_tool_that_does_not_exist_is_an_error_for_the_model() -> None:
    model = ScriptedProvider(asks_for("fly"), "I cannot fly.")
    async with gateway(model) as bot:
        await bot.channel.push("go")
        assert (await bot.channel.pop()).text == "I cannot fly."
        assert "there is no tool" in last_text(model.requests[1])


async def test_a_call_still_running_at_the_time_limit_is_cut_off() -> None:
    recorder, gate = Recorder(), Gate()
    model = ScriptedProvider(asks_for("exec"))
    settings = RunSettings(limits=StepLimits(max_run_seconds=0.05))
    options = Options(settings=settings)
    async with gateway(model, tools=[recorder.tool(then=gate)], options=options) as bot:
        await bot.channel.push("go")
        await gate.reached.wait()
        assert (await bot.channel.pop()).text
        (result,) = bodies(bot, ToolResultEntry)
        assert result.text == "error: cut off by the run's time limit; outcome unknown"


@pytest.mark.parametrize(
    ("limits", "line"),
    [
        (StepLimits(max_iterations=2), "the limit of 2 model calls"),
        (StepLimits(max_tool_rounds=1), "the limit of 1 rounds of tools"),
        (StepLimits(max_tool_calls=1), "the limit of 1 tool calls"),
    ],
)
async def test_a_limit_ends_the_run_with_what_there_is_and_says_which(
    limits: StepLimits, line: str, recorder: Recorder
) -> None:
    model = ScriptedProvider(
        otherwise=lambda r: asks_for("exec", "So far.", text=str(len(r.messages)))
    )
    options = Options(settings=RunSettings(limits=limits))
    async with gateway(model, tools=[recorder.tool()], options=options) as bot:
        await bot.channel.push("go")
        text = (await bot.channel.pop()).text
        assert text.startswith("So far.")
        assert line in text


async def test_a_model_call_is_cut_at_the_runs_time_limit() -> None:
    held = Held("Once upon")
    options = Options(settings=RunSettings(limits=StepLimits(max_run_seconds=0.05)))
    async with gateway(ScriptedProvider(held), options=options) as bot:
        await bot.channel.push("tell me")
        assert (await bot.channel.pop()).text == (
            "Once upon\n\n(I stopped here: the limit of 0.05 seconds.)"
        )
        (reply,) = bodies(bot, ReplyEntry)
        assert reply.partial


async def test_a_providers_own_timeout_is_not_the_runs_limit() -> None:
    async with gateway(ScriptedProvider(TimeoutError("its own"))) as bot:
        await bot.channel.push("hello")
        assert "Something went wrong inside me (TimeoutError)" in (await bot.channel.pop()).text


@pytest.mark.parametrize("answer", ["", "  \n", "\u200b\u200d \u2060", "\u2800\u3164"])
async def test_an_empty_answer_says_so(answer: str) -> None:
    async with gateway(ScriptedProvider(answer)) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text.startswith("(The model gave an empty answer.")


async def test_an_answer_cut_at_max_tokens_says_so() -> None:
    cut = Completion(text="Once", finish_reason="length")
    async with gateway(ScriptedProvider(cut)) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "Once\n\n(the answer was cut off at max_tokens)"


async def test_a_truncated_call_is_not_made(recorder: Recorder) -> None:
    call = asks_for("exec", text="rm")
    cut = msgspec.structs.replace(call, finish_reason="length")
    async with gateway(ScriptedProvider(cut, "sorry"), tools=[recorder.tool()]) as bot:
        await bot.channel.push("go")
        assert (await bot.channel.pop()).text == "sorry"
        assert recorder.calls == []
        assert "ToolStarted" not in kinds(bot)


async def test_a_stubborn_model_is_refused_the_fourth_same_call(recorder: Recorder) -> None:
    model = ScriptedProvider(*[asks_for("look")] * 5, "I see.")
    async with gateway(model, tools=[recorder.tool("look", Effect.NONE)]) as bot:
        await bot.channel.push("look")
        assert (await bot.channel.pop()).text == "I see."
        assert recorder.calls == ["look"] * 3
        assert "3 times" in last_text(model.requests[4])


@pytest.mark.parametrize(
    "error",
    [
        ModelUnreachable("no connection to example"),
        ModelRefused("the key is refused"),
        ModelRateLimited("too many requests", 30),
        ModelProtocolError("not what was promised"),
        ModelMissing("the weights are missing"),
    ],
)
async def test_a_model_that_fails_is_a_clear_notice(error: ModelError) -> None:
    async with gateway(ScriptedProvider(error)) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == f"I could not answer: {error}"
        await bot.channel.push("again")
        assert (await bot.channel.pop()).text == "echo: again"
        assert len(bodies(bot, FailedEntry)) == 1


async def test_a_model_that_is_not_configured_is_a_clear_notice(bot: FakeGateway) -> None:
    await bot.channel.push("one")
    await bot.channel.pop()
    await choosing(bot.journal).set_model("fake:1", "nowhere/model")
    await bot.channel.push("two")
    assert (await bot.channel.pop()).text == ("I could not answer: there is no model nowhere/model")


async def test_an_unexpected_failure_ends_only_that_run_with_a_word_to_the_person() -> None:
    async with gateway(ScriptedProvider(RuntimeError("a bug"))) as bot:
        await bot.channel.push("hello")
        text = (await bot.channel.pop()).text
        assert text.startswith("Something went wrong inside me (RuntimeError).")
        await bot.channel.push("again")
        assert (await bot.channel.pop()).text == "echo: again"


class BrokenPersona(PromptBuilder):
    def __init__(self) -> None:
        super().__init__(Path("/nonexistent"))
        self.broken = True

    async def shown(
        self, profile: ModelProfile, tools: tuple[ToolSpec, ...], scope: str, *, private: bool
    ) -> PromptSnapshot:
        if self.broken:
            raise ZeroDivisionError
        return await super().shown(profile, tools, scope, private=private)


async def test_a_persona_that_fails_ends_only_that_run() -> None:
    persona = BrokenPersona()
    async with gateway(options=Options(persona=persona)) as bot:
        await bot.channel.push("hello")
        assert "(ZeroDivisionError)" in (await bot.channel.pop()).text
        persona.broken = False
        await bot.channel.push("again")
        assert (await bot.channel.pop()).text == "echo: again"


@pytest.mark.parametrize("text", ["half \ud83d an emoji", "nul \0 nul"])
async def test_what_no_store_can_hold_is_replaced_in_what_the_model_says(text: str) -> None:
    recorder = Recorder()
    call = Completion(text=text, tool_calls=(ToolCall("\ud83d", "exec", f'{{"text":"{text}"}}'),))
    async with gateway(ScriptedProvider(call, text), tools=[recorder.tool()]) as bot:
        await bot.channel.push("hello")
        assert "\ufffd" in (await bot.channel.pop()).text


async def test_an_answer_that_cannot_be_written_ends_only_that_run() -> None:
    unheard = Completion(text="hi", finish_reason=object())  # type: ignore[arg-type]
    async with gateway(ScriptedProvider(unheard)) as bot:
        await bot.channel.push("hello")
        assert "Something went wrong inside me (TypeError)" in (await bot.channel.pop()).text
        await bot.channel.push("again")
        assert (await bot.channel.pop()).text == "echo: again"


async def test_an_overflow_cuts_the_window_and_asks_again() -> None:
    def strict(request: ModelRequest) -> ContextOverflow | str:
        return ContextOverflow("too long") if len(request.messages) > 6 else "fits"

    async with gateway(ScriptedProvider(otherwise=strict)) as bot:
        for number in range(4):
            await bot.channel.push(f"{number} " + "x" * 400)
            assert (await bot.channel.pop()).text == "fits"
        first, *_rest, last = bodies(bot, ModelCallEntry)
        assert first.window_from == 1
        assert last.window_from > 1
        assert len(bodies(bot, OverflowEntry)) == 1
        assert len(bodies(bot, PromptEntry)) == 2


async def test_a_prompt_that_never_fits_is_said_so_after_three_cuts() -> None:
    async with gateway(ScriptedProvider(otherwise=lambda _: ContextOverflow("too long"))) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "I could not answer: too long"
        assert len(bot.provider.requests) == 4


async def test_a_model_without_tools_is_offered_none() -> None:
    profile = ModelProfile(name="small", provider="test", tools=False)
    model = ScriptedProvider(model=profile)
    async with gateway(model, tools=[Recorder().tool()]) as bot:
        await bot.channel.push("hello")
        await bot.channel.pop()
        assert model.requests[0].tools == ()


async def test_the_prompt_is_recorded_once_and_reused(bot: FakeGateway) -> None:
    for text in ("one", "two", "three"):
        await bot.channel.push(text)
        await bot.channel.pop()
    (prompt,) = bodies(bot, PromptEntry)
    assert {call.prompt for call in bodies(bot, ModelCallEntry)} == {prompt.digest}


async def test_new_starts_a_conversation_that_sees_nothing_of_the_old_one() -> None:
    model = ScriptedProvider()
    async with gateway(model) as bot:
        await bot.channel.push("my secret")
        await bot.channel.pop()
        await bot.channel.push("/new")
        assert (await bot.channel.pop()).text.startswith("New conversation.")
        await bot.channel.push("hello")
        await bot.channel.pop()
        assert "my secret" not in str(model.requests[-1])
        assert [m.role for m in model.requests[-1].messages] == ["system", "user"]


# Steering


async def test_what_the_same_sender_says_meanwhile_is_taken_in_before_the_next_call() -> None:
    recorder, gate = Recorder(), Gate()
    model = ScriptedProvider(asks_for("exec"), "both")
    async with gateway(model, tools=[recorder.tool(then=gate)]) as bot:
        await bot.channel.push("one")
        await gate.reached.wait()
        await bot.channel.push("two")
        await bot.channel.push("of another", sender=MEMBER)
        gate.open.set()
        assert (await bot.channel.pop()).text.startswith("both\n\n(This also answers your")
        assert [e.steered for e in bodies(bot, UserEntry)][:2] == [False, True]
        assert (await bot.channel.pop()).text == "echo: of another"
        assert len(model.requests) == 3


async def test_a_model_that_answers_one_message_only_is_not_steered() -> None:
    recorder, gate = Recorder(), Gate()
    profile = ModelProfile(name="m", provider="test", one_at_a_time=True)
    model = ScriptedProvider(asks_for("exec"), "first", model=profile)
    async with gateway(model, tools=[recorder.tool(then=gate)]) as bot:
        await bot.channel.push("one")
        await gate.reached.wait()
        await bot.channel.push("two")
        gate.open.set()
        assert (await bot.channel.pop()).text == "first"
        assert (await bot.channel.pop()).text == "echo: two"


async def test_without_steering_what_comes_meanwhile_is_the_next_run() -> None:
    recorder, gate = Recorder(), Gate()
    model = ScriptedProvider(asks_for("exec"), "first")
    options = Options(settings=RunSettings(steer=False))
    async with gateway(model, tools=[recorder.tool(then=gate)], options=options) as bot:
        await bot.channel.push("one")
        await gate.reached.wait()
        await bot.channel.push("two")
        gate.open.set()
        assert (await bot.channel.pop()).text == "first"
        assert (await bot.channel.pop()).text == "echo: two"


async def test_a_final_answer_goes_out_and_what_came_meanwhile_starts_the_next_run() -> None:
    held = Held()
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("one")
        await held.reached.wait()
        await bot.channel.push("two")
        held.answer("first")
        assert (await bot.channel.pop()).text == "first"
        assert (await bot.channel.pop()).text == "echo: two"


async def test_messages_that_wait_together_are_answered_together(held: Held) -> None:
    model = ScriptedProvider(held)
    async with gateway(model) as bot:
        await bot.channel.push("one")
        await held.reached.wait()
        for text in ("two", "three"):
            await bot.channel.push(text)
        held.answer("first")
        await bot.channel.pop()
        assert (await bot.channel.pop()).text == "echo: three"
        assert [m.role for m in model.requests[-1].messages[-2:]] == ["user", "user"]


# Stopping


async def test_stop_ends_the_run_and_keeps_what_was_said() -> None:
    held = Held("Once upon a time")
    model = ScriptedProvider(held)
    async with gateway(model) as bot:
        await bot.channel.push("tell me")
        await held.reached.wait()
        await bot.channel.push("/stop")
        assert (await bot.channel.pop()).text == "Stopped."
        await bot.settle()
        assert bot.worker.running == []
        (partial,) = bodies(bot, ReplyEntry)
        assert (partial.text, partial.partial) == ("Once upon a time", True)
        assert len(bodies(bot, CancelEntry)) == 1
        await bot.channel.push("go on")
        assert (await bot.channel.pop()).text == "echo: go on"
        assert "Once upon a time [stopped here]" in str(model.requests[-1].messages)


async def test_stop_while_a_tool_runs_kills_it_and_says_nothing_twice() -> None:
    recorder, gate = Recorder(), Gate()
    model = ScriptedProvider(asks_for("exec", "Let me see."))
    async with gateway(model, tools=[recorder.tool(then=gate)]) as bot:
        await bot.channel.push("go")
        await gate.reached.wait()
        await bot.channel.push("/stop")
        assert (await bot.channel.pop()).text == "Stopped."
        await bot.channel.push("and?")
        await bot.channel.pop()
        assert str(model.requests[-1].messages).count("Let me see.") == 1
        assert "interrupted, outcome unknown" in str(model.requests[-1].messages)


async def test_stop_drops_what_its_sender_had_waiting_and_nobody_elses(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("one", sender=MEMBER)
        await held.reached.wait()
        await bot.channel.push("two", sender=MEMBER)
        await bot.channel.push("of the owner")
        await bot.channel.push("/stop", sender=MEMBER)
        assert (await bot.channel.pop()).text == 'Stopped. Dropped: "two".'
        assert (await bot.channel.pop()).text == "echo: of the owner"
        await bot.settle()
        assert len(bot.channel.sent) == 2


async def test_watchers_are_told_what_happens_in_order_and_that_it_ended() -> None:
    recorder = Recorder()
    model = ScriptedProvider(asks_for("exec"), "the answer is long enough for two pieces")
    async with gateway(model, tools=[recorder.tool()]) as bot:
        watching = bot.bus.subscribe("fake:1")
        await bot.channel.push("go")
        seen = []
        async with asyncio.timeout(30):
            async for event in watching:
                seen.append(event)
                if event.kind is EventKind.END:
                    break
        assert [e.seq for e in seen] == list(range(1, len(seen) + 1))
        order = [str(e.kind) for e in seen if e.kind is not EventKind.MODEL_DELTA]
        assert order == [
            "status",
            "assistant_message",
            "tool_call",
            "tool_result",
            "assistant_message",
            "end",
        ]
        text = "".join(e.payload["text"] for e in seen if e.kind is EventKind.MODEL_DELTA)
        assert text == "the answer is long enough for two pieces"
        assert seen[-1].payload["state"] == "completed"


async def test_a_run_resumed_after_a_crash_in_a_tool_is_told_that_it_was_interrupted() -> None:
    recorder, gate = Recorder(), Gate()
    model = ScriptedProvider(asks_for("exec"), "I will check.")
    async with gateway(model, tools=[recorder.tool(then=gate)]) as first:
        await first.channel.push("go")
        await gate.reached.wait()
        home = first.home
        first.crash()
        await first.settle()
        async with gateway(model, tools=[recorder.tool()], home=home) as second:
            assert (await second.channel.pop()).text == "I will check."
            assert recorder.calls == ["exec"]
            assert last_text(model.requests[1]) == INTERRUPTED


async def test_what_a_program_says_is_never_taken_for_a_command(bot: FakeGateway) -> None:
    request = RunInput(messages=[{"role": "user", "content": "/new or /compact?"}])
    results = [item async for item in bot.run_service.stream(request)]
    assert isinstance(results[-1], RunResult)
    assert results[-1].message == "echo: /new or /compact?"


@pytest.mark.parametrize("text", ["/compact everything", "/compact undo=perhaps"])
async def test_a_command_with_what_it_does_not_take_says_how_it_is_written(text: str) -> None:
    async with gateway() as bot:
        await bot.channel.push(text)
        assert "Write: `/compact [undo=yes]`" in (await bot.channel.pop()).text
        assert bodies(bot, UserEntry) == []
