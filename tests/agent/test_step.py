"""What a run does next, branch by branch."""

from __future__ import annotations

import pytest

from nanobot.agent import step
from nanobot.agent.step import CallModel, Finish, RunTools, Step, StepLimits, Stop, next_step
from nanobot.providers.base import FinishReason
from nanobot.session.entries import Body, CancelEntry, OverflowEntry, WindowResetEntry
from tests.agent.building import RUN, asking, joined, log, reply, result, started, tool_call, user

USUAL = StepLimits()
NOTE = OverflowEntry(text="too long")


def after(*bodies: Body, limits: StepLimits = USUAL) -> Step:
    return next_step(RUN, log(*bodies), limits)


def refusals(*bodies: Body, limits: StepLimits = USUAL) -> list[str | None]:
    upcoming = after(*bodies, limits=limits)
    assert isinstance(upcoming, RunTools)
    return [call.refusal for call in upcoming.calls]


def test_a_new_run_asks_the_model() -> None:
    assert after(user()) == CallModel(1)


def test_a_model_call_without_a_reply_is_made_again_under_the_next_number() -> None:
    assert after(user(), asking(1)) == CallModel(2)


def test_a_reply_without_calls_is_the_answer() -> None:
    assert after(user(), asking(1), reply(1, "hi")) == Finish("hi")


@pytest.mark.parametrize(
    ("reason", "word"), [("length", "max_tokens"), ("content_filter", "filter")]
)
def test_an_answer_that_was_cut_says_so(reason: FinishReason, word: str) -> None:
    upcoming = after(user(), asking(1), reply(1, "hi", finish=reason))
    assert isinstance(upcoming, Finish)
    assert upcoming.text == "hi"
    assert upcoming.warning
    assert word in upcoming.warning


def test_calls_are_made_in_order() -> None:
    upcoming = after(user(), asking(1), reply(1, "", "a", "b"))
    assert isinstance(upcoming, RunTools)
    assert [(c.model_call, c.index, c.call.name) for c in upcoming.calls] == [
        (1, 0, "a"),
        (1, 1, "b"),
    ]
    assert [c.refusal for c in upcoming.calls] == [None, None]


def test_only_the_calls_without_a_result_are_left() -> None:
    upcoming = after(user(), asking(1), reply(1, "", "a", "b"), result(1, 0))
    assert isinstance(upcoming, RunTools)
    assert [c.index for c in upcoming.calls] == [1]


def test_once_all_calls_have_results_the_model_is_asked_again() -> None:
    assert after(user(), asking(1), reply(1, "", "a"), result(1)) == CallModel(2)


def test_a_started_call_without_a_result_is_not_made_again() -> None:
    calls = (user(), asking(1), reply(1, "", "exec", "exec"), started(1, 0))
    assert refusals(*calls) == [step.INTERRUPTED, None]


def test_a_started_call_with_its_result_is_done() -> None:
    assert after(user(), asking(1), reply(1, "", "exec"), started(1), result(1)) == CallModel(2)


def test_a_truncated_call_is_never_made() -> None:
    assert refusals(user(), asking(1), reply(1, "", "exec", finish="length")) == [step.TRUNCATED]


def repeated(times: int, *texts: str) -> list[Body]:
    bodies: list[Body] = [user()]
    for call in range(1, times + 1):
        text = texts[(call - 1) % len(texts)]
        bodies += [asking(call), reply(call, "", "look"), result(call, text=text)]
    return bodies


def test_the_same_call_with_the_same_result_is_refused_the_fourth_time() -> None:
    assert refusals(*repeated(2, "same"), asking(9), reply(9, "", "look")) == [None]
    (refusal,) = refusals(*repeated(3, "same"), asking(9), reply(9, "", "look"))
    assert refusal
    assert "3 times" in refusal


def test_a_repeated_call_keeps_being_refused() -> None:
    bodies = repeated(3, "same")
    for call in range(10, 15):
        bodies += [asking(call), reply(call, "", "look")]
        (refusal,) = refusals(*bodies)
        assert refusal
        bodies.append(result(call, text=refusal))


def test_a_crash_among_the_calls_of_one_reply_changes_no_refusal() -> None:
    bodies = [*repeated(2, "same"), asking(9), reply(9, "", "look", "look")]
    assert refusals(*bodies) == [None, None]
    assert refusals(*bodies, result(9, 0, "same")) == [None]


def test_the_same_call_with_changing_results_goes_on() -> None:
    bodies = [*repeated(9, "a", "b"), asking(10), reply(10, "", "look")]
    assert refusals(*bodies) == [None]


def test_arguments_are_compared_by_meaning() -> None:
    bodies: list[Body] = [user()]
    for call, arguments in enumerate(['{"a":1,"b":2}', '{"b": 2, "a": 1}', '{"a":1, "b":2}'], 1):
        same = tool_call("look").__class__("", "look", arguments)
        bodies += [asking(call), reply(call, "", same), result(call)]
    again = [*bodies, asking(4), reply(4, "", tool_call("look", b=2, a=1))]
    (refusal,) = refusals(*again)
    assert refusal
    assert refusals(*bodies, asking(4), reply(4, "", tool_call("look", b=3, a=1))) == [None]


def test_arguments_that_are_no_json_are_compared_as_they_are() -> None:
    broken = tool_call("look").__class__("", "look", "{" * 2_000)
    bodies: list[Body] = [user()]
    for call in (1, 2, 3):
        bodies += [asking(call), reply(call, "", broken), result(call)]
    (refusal,) = refusals(*bodies, asking(4), reply(4, "", broken))
    assert refusal


def test_the_limit_of_model_calls_ends_the_run_with_what_there_is() -> None:
    bodies = (user(), asking(1), reply(1, "so far", "look"), result(1))
    assert after(*bodies, limits=StepLimits(max_iterations=1)) == Stop("limit_iterations", "so far")


def test_the_limit_of_rounds_stops_before_the_round_over_it() -> None:
    limits = StepLimits(max_tool_rounds=1)
    first = (user(), asking(1), reply(1, "a", "look"))
    assert isinstance(after(*first, limits=limits), RunTools)
    second = (*first, result(1), asking(2), reply(2, "b", "look"))
    assert after(*second, limits=limits) == Stop("limit_tool_rounds", "b")


def test_the_limit_of_tool_calls_holds_within_one_answer_too() -> None:
    limits = StepLimits(max_tool_calls=3)
    many = (user(), asking(1), reply(1, "a", *["look"] * 40))
    first = after(*many, limits=limits)
    assert isinstance(first, RunTools)
    assert [call.index for call in first.calls] == [0, 1, 2]
    results: list[Body] = [result(1, index) for index in range(3)]
    assert after(*many, *results, limits=limits) == Stop("limit_tool_calls", "a")


def test_as_many_tool_calls_as_are_allowed_may_be_answered() -> None:
    limits = StepLimits(max_tool_calls=1)
    done = (user(), asking(1), reply(1, "a", "look"), result(1))
    assert after(*done, limits=limits) == CallModel(2)
    assert after(*done, asking(2), reply(2, "b"), limits=limits) == Finish("b")
    more = (*done, asking(2), reply(2, "b", "look"))
    assert after(*more, limits=limits) == Stop("limit_tool_calls", "b")


def test_the_limit_of_seconds_counts_recorded_steps_only() -> None:
    limits = StepLimits(max_run_seconds=3)
    bodies = (user(), asking(1), reply(1, "a", "look", ms=1_000), result(1, ms=1_999))
    assert after(*bodies, limits=limits) == CallModel(2)
    over = (*bodies[:-1], result(1, ms=2_000))
    assert after(*over, limits=limits) == Stop("limit_seconds", "a")


def test_an_answer_that_is_there_goes_out_over_every_limit() -> None:
    limits = StepLimits(max_iterations=1, max_tool_rounds=1, max_run_seconds=0.001)
    assert after(user(), asking(1), reply(1, "done", ms=99_999), limits=limits) == Finish("done")


def test_a_call_cut_off_by_the_clock_is_no_answer() -> None:
    cut = reply(1, "half a sen", ms=300_001, partial=True)
    assert after(user(), asking(1), cut) == Stop("limit_seconds", "half a sen")


def test_a_cancel_wins_over_everything() -> None:
    for bodies in ([user()], [user(), asking(1), reply(1, "hi")], repeated(3, "same")):
        assert after(*bodies, CancelEntry(by="1001")) == Stop("cancelled")


def test_an_overflow_cuts_the_window_of_the_next_call_only() -> None:
    assert after(user(), asking(1), NOTE) == CallModel(2, overflowed=True)
    assert after(user(), asking(1), NOTE, asking(2)) == CallModel(3)
    assert after(user(), asking(1), WindowResetEntry()) == CallModel(2)


def test_what_the_person_says_after_the_tools_is_answered_by_the_model() -> None:
    bodies = (user(), asking(1), reply(1, "", "look"), result(1), user("more", steered=True))
    assert after(*bodies) == CallModel(2)


def test_other_runs_of_the_session_are_none_of_its_business() -> None:
    entries = joined(
        [
            ("old", [user(), asking(1), reply(1, "old", "look"), CancelEntry(by="x")]),
            (RUN, [user()]),
            ("note", [NOTE]),
        ]
    )
    assert next_step(RUN, entries, StepLimits()) == CallModel(1)


def test_erased_entries_are_passed_over() -> None:
    assert next_step(RUN, log(user(), None, reply(1, "hi")), StepLimits()) == Finish("hi")


def test_elapsed_time_is_the_sum_of_replies_and_results() -> None:
    assert step.elapsed_seconds([user(), reply(1, ms=5), result(1, ms=7), NOTE]) == 0.012
