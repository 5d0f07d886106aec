"""What holds for `next_step` over every log: it ends, and a crash changes nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from nanobot.agent import step
from nanobot.agent.step import AskHuman, CallModel, Finish, RunTools, StepLimits, Stop, next_step
from nanobot.providers.base import FinishReason, ToolCall
from nanobot.session.approvals import digest
from nanobot.session.entries import (
    ApprovalEntry,
    Body,
    CancelEntry,
    DecisionEntry,
    Entry,
    FailedEntry,
    ModelCallEntry,
    OverflowEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
    UserEntry,
)
from tests.agent.building import RUN, asking, log, reply, result, started, user

LIMITS = StepLimits(max_iterations=8, max_tool_rounds=5, max_run_seconds=60)
NAMES = ("look", "exec", "mail")
"""`exec` touches the world, `mail` asks."""

MAIL = digest("mail", "{}")

verdicts = st.sampled_from(["approved", "denied"])
small = st.integers(0, 4)
words = st.sampled_from(["", "a", "b", " "])
calls = st.lists(
    st.builds(
        ToolCall,
        st.just("id"),
        st.sampled_from(NAMES),
        st.sampled_from(["{}", '{"a":1}', "[", '{"a":NaN}', "null", "[" * 3_000]),
    ),
    max_size=3,
).map(tuple)
reasons: st.SearchStrategy[FinishReason] = st.sampled_from(
    ["stop", "length", "tool_calls", "content_filter"]
)
bodies: st.SearchStrategy[Body | None] = st.one_of(
    st.none(),
    st.builds(user, words),
    st.builds(asking, small),
    st.builds(
        ReplyEntry,
        call=small,
        text=words,
        tool_calls=calls,
        finish_reason=reasons,
        ms=st.integers(0, 100_000),
        partial=st.booleans(),
    ),
    st.builds(started, small, small),
    st.builds(result, small, small, st.one_of(words, st.just(step.REPEATED))),
    st.builds(OverflowEntry, text=words),
    st.builds(FailedEntry, text=words),
    st.just(CancelEntry(by="x")),
    st.builds(ApprovalEntry, id=small, call=small, index=small, digest=st.just(MAIL)),
    st.builds(DecisionEntry, id=small, verdict=verdicts, by=st.just("x")),
)


@given(st.lists(st.tuples(st.sampled_from([RUN, "other"]), bodies), max_size=25))
def test_it_has_an_answer_for_every_log(rows: list[tuple[str, Body | None]]) -> None:
    entries = [Entry(seq, run_id, 0.0, body) for seq, (run_id, body) in enumerate(rows, 1)]
    decided = next_step(RUN, entries, LIMITS)
    assert decided == next_step(RUN, entries, LIMITS)
    if isinstance(decided, RunTools):
        done = {
            (e.body.call, e.body.index)
            for e in entries
            if e.run_id == RUN and isinstance(e.body, ToolResultEntry)
        }
        assert decided.calls
        assert not done & {(c.model_call, c.index) for c in decided.calls}
    if any(e.run_id == RUN and isinstance(e.body, CancelEntry) for e in entries):
        assert decided == Stop("cancelled")


class Model:
    """A model and tools that always do the same in the same place of the same run."""

    def __init__(self, seed: int, *, stubborn: bool) -> None:
        self._seed = seed
        self._stubborn = stubborn

    def answer(self, entries: list[Entry]) -> ReplyEntry:
        """By what it has been told, as models do; the number of the call means nothing to it."""
        known = [
            (type(e.body).__name__, e.body.text)
            for e in entries
            if isinstance(e.body, UserEntry | ReplyEntry | ToolResultEntry)
        ]
        chance = random.Random(f"{self._seed} {known}")
        call = sum(isinstance(e.body, ModelCallEntry) for e in entries)
        names = [chance.choice(NAMES) for _ in range(chance.randint(1, 3))]
        if self._stubborn or chance.random() < 0.7:
            finish: FinishReason = "length" if chance.random() < 0.1 else "tool_calls"
            return reply(call, chance.choice(["", "hm"]), *names, finish=finish, ms=10)
        return reply(call, f"done {chance.random()}", ms=10)

    def run(self, call: step.PendingCall, entries: list[Entry]) -> str:
        results = sum(isinstance(e.body, ToolResultEntry) for e in entries)
        return f"{call.call.name} gave {random.Random(f'{self._seed} {results}').randint(0, 9)}"


Write = Callable[[list[Entry], Body], None]


def drive(model: Model, entries: list[Entry], write: Write) -> Finish | Stop:
    """The driver's loop over a log: `write` may crash, before or after it wrote."""
    held: list[Body] = []
    while True:
        seen = [*entries, *log(*held, first=len(entries) + 1)]
        match next_step(RUN, seen, LIMITS):
            case CallModel(number):
                write(entries, asking(number))
                held = [model.answer(entries)]
            case RunTools(pending):
                for body in held:
                    write(entries, body)
                held = []
                for call in pending:
                    if asks(call):
                        asked = ApprovalEntry(
                            id=len(entries), call=call.model_call, index=call.index, digest=MAIL
                        )
                        write(entries, asked)
                        break
                    make(model, entries, write, call)
            case AskHuman(number):
                write(entries, DecisionEntry(id=number, verdict="approved", by="Ann"))
            case Finish() | Stop() as end:
                return end


def asks(call: step.PendingCall) -> bool:
    return call.refusal is None and call.call.name == "mail" and not call.approved


def make(model: Model, entries: list[Entry], write: Write, call: step.PendingCall) -> None:
    if call.refusal is None and call.call.name == "exec":
        write(entries, ToolStartedEntry(call=call.model_call, index=call.index, name="exec"))
    text = call.refusal or model.run(call, entries)
    write(entries, result(call.model_call, call.index, text, name=call.call.name, ms=10))


def steadily(entries: list[Entry], body: Body) -> None:
    entries.append(Entry(len(entries) + 1, RUN, 0.0, body))


@given(st.integers(), st.booleans())
def test_every_run_ends_within_its_limits(seed: int, stubborn: bool) -> None:
    entries = log(user())
    end = drive(Model(seed, stubborn=stubborn), entries, steadily)
    counted = [type(entry.body).__name__ for entry in entries]
    assert counted.count("ModelCallEntry") <= LIMITS.max_iterations
    assert counted.count("ReplyEntry") <= LIMITS.max_tool_rounds
    assert not (stubborn and isinstance(end, Finish))


class Crash(Exception):
    pass


@given(st.integers(), st.integers(1, 30), st.booleans())
def test_a_crash_between_two_entries_changes_nothing_that_was_said(
    seed: int, nth: int, after: bool
) -> None:
    """But for the call that was under way, which is said to be interrupted if it may have had an
    effect; so runs whose crash fell into one are compared up to there."""
    model = Model(seed, stubborn=False)
    whole = log(user())
    end = drive(model, whole, steadily)

    left = nth

    def crashing(entries: list[Entry], body: Body) -> None:
        nonlocal left
        left -= 1
        if left == 0 and not after:
            raise Crash
        steadily(entries, body)
        if left == 0:
            raise Crash

    entries = log(user())
    again: Finish | Stop | None = None
    for _ in range(2):
        try:
            again = drive(model, entries, crashing)
        except Crash:
            continue
        break
    assert again is not None
    outcomes = [e.body for e in entries if isinstance(e.body, ReplyEntry | ToolResultEntry)]
    if any(isinstance(b, ToolResultEntry) and b.text == step.INTERRUPTED for b in outcomes):
        return
    if isinstance(again, Stop) and again != end:
        # A model call that was lost counts, so this run may reach its limit earlier.
        assert again.reason == "limit_iterations"
        return
    assert again == end
    assert [texts(b) for b in outcomes] == [
        texts(e.body) for e in whole if isinstance(e.body, ReplyEntry | ToolResultEntry)
    ]


def texts(body: ReplyEntry | ToolResultEntry) -> tuple[str, object]:
    return (body.text, body.tool_calls if isinstance(body, ReplyEntry) else body.index)


@given(st.integers(), st.data())
def test_cutting_a_log_anywhere_and_going_on_makes_no_finished_call_again(
    seed: int, data: st.DataObject
) -> None:
    model = Model(seed, stubborn=False)
    whole = log(user())
    drive(model, whole, steadily)
    entries = whole[: data.draw(st.integers(1, len(whole)))]
    done = [e.body for e in entries if isinstance(e.body, ToolResultEntry)]
    drive(model, entries, steadily)
    results = [(e.body.call, e.body.index) for e in entries if isinstance(e.body, ToolResultEntry)]
    assert len(results) == len(set(results))
    assert [e.body for e in entries if isinstance(e.body, ToolResultEntry)][: len(done)] == done
    begun = [(e.body.call, e.body.index) for e in entries if isinstance(e.body, ToolStartedEntry)]
    assert len(begun) == len(set(begun))
