"""Two runs side by side: a pure function over their logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal

import msgspec

from nanobot.agent.step import signature
from nanobot.plugins.common.views.views import RunView
from nanobot.session.entries import (
    Body,
    CancelEntry,
    Entry,
    FailedEntry,
    FallbackEntry,
    ModelCallEntry,
    ReplyEntry,
    ToolResultEntry,
    UserEntry,
)
from nanobot.session.usage import run_cost, run_usage

MOST_STEPS = 1_000
"""The steps of each run that are compared."""
_SHOWN = 4_000


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a run. `name`: the person, the tool or the model; `arguments`: of a call."""

    seq: int
    kind: Literal["message", "call", "answer", "note", "erased"]
    name: str
    text: str
    arguments: str = ""
    ok: bool = True
    ms: int = 0


class StepPair(msgspec.Struct, frozen=True, kw_only=True):
    """Steps of both runs at the same place. `same`: they do not differ."""

    same: bool
    a: StepView | None = None
    b: StepView | None = None


class SideView(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs. What a fork shares with its parent costs nothing and takes no time there.
    `cost` is in US dollars, None if a price is unknown. `parent` and `forked_at`: of a fork.
    """

    run: str
    session_key: str
    state: str
    models: tuple[str, ...]
    answer: str
    model_calls: int
    tool_calls: int
    tokens: int
    cost: float | None
    seconds: float
    error: str = ""
    parent: str = ""
    forked_at: int | None = None


class ComparisonView(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs and their steps, aligned. `same_answer`: both have the same. `cut`: there are more
    steps than are compared.
    """

    a: SideView
    b: SideView
    steps: tuple[StepPair, ...]
    same_answer: bool
    differences: int
    cut: bool = False


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A run with the entries of its log, and where it was forked from."""

    run: RunView
    entries: Sequence[Entry]
    parent: str = ""
    forked_at: int | None = None


def compared(a: Side, b: Side) -> ComparisonView:
    """Both runs, step by step."""
    first, second = list(_steps(a.entries)), list(_steps(b.entries))
    pairs = tuple(_aligned(first[:MOST_STEPS], second[:MOST_STEPS]))
    left, right = _view(a), _view(b)
    return ComparisonView(
        a=left,
        b=right,
        steps=pairs,
        same_answer=left.answer == right.answer,
        differences=sum(not pair.same for pair in pairs),
        cut=max(len(first), len(second)) > MOST_STEPS,
    )


def _aligned(a: list[StepView], b: list[StepView]) -> Iterator[StepPair]:
    matcher = SequenceMatcher(None, [_key(s) for s in a], [_key(s) for s in b], autojunk=False)
    for change, from_a, to_a, from_b, to_b in matcher.get_opcodes():
        for left, right in zip_longest(a[from_a:to_a], b[from_b:to_b]):
            yield StepPair(same=change == "equal", a=left, b=right)


def _key(step: StepView) -> tuple[str, ...]:
    """What makes two steps the same; another model that says the same makes no difference."""
    name = "" if step.kind == "answer" else step.name
    return (step.kind, name, step.text, step.arguments)


def _steps(entries: Sequence[Entry]) -> Iterator[StepView]:
    model, calls = "", dict[tuple[int, int], str]()
    for entry in entries:
        body = entry.body
        if isinstance(body, ModelCallEntry):
            model = body.profile.label
        elif isinstance(body, ReplyEntry):
            for index, call in enumerate(body.tool_calls):
                calls[body.call, index] = _arguments(call.name, call.arguments)
            if body.text.strip():
                yield _step(entry, "answer", model, body.text, ms=body.ms)
        elif isinstance(body, ToolResultEntry):
            about = {"arguments": calls.get((body.call, body.index), ""), "ok": body.ok}
            yield _step(entry, "call", body.name, body.text, ms=body.ms, **about)
        elif (other := _other(entry)) is not None:
            yield other


def _other(entry: Entry) -> StepView | None:
    match entry.body:
        case None:
            return StepView(seq=entry.seq, kind="erased", name="", text="")
        case UserEntry(text=text, sender_name=name, sender_id=sender):
            return _step(entry, "message", name or sender, text)
        case FailedEntry(text=text) | FallbackEntry(text=text):
            return _step(entry, "note", "", text)
        case CancelEntry(by=by):
            return _step(entry, "note", "", f"stopped by {by}")
        case _:
            return None


def _step(entry: Entry, kind: Any, name: str, text: str, **more: Any) -> StepView:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
    return StepView(seq=entry.seq, kind=kind, name=name, text=shown, **more)


def _arguments(name: str, arguments: str) -> str:
    return signature(name, arguments).removeprefix(f"{name} ")[:_SHOWN]


def _view(side: Side) -> SideView:
    bodies: list[Body] = [entry.body for entry in side.entries if entry.body is not None]
    usage, run = run_usage(bodies), side.run
    models = (body.profile.label for body in bodies if isinstance(body, ModelCallEntry))
    answers = (body for body in reversed(bodies) if isinstance(body, ReplyEntry))
    answer = next((body.text for body in answers if not body.tool_calls), "")
    return SideView(
        run=run.id,
        session_key=run.session_key,
        state=str(run.state),
        models=tuple(dict.fromkeys(models)),
        answer=answer,
        model_calls=usage.model_calls,
        tool_calls=usage.tool_calls,
        tokens=usage.prompt_tokens + usage.completion_tokens,
        cost=run_cost(bodies),
        seconds=usage.active_ms / 1000,
        error=run.error or "",
        parent=side.parent,
        forked_at=side.forked_at,
    )


def as_text(view: ComparisonView) -> str:
    """Both runs for a terminal or a chat: equal steps once, different ones one after the other."""
    lines = [_headline("A", view.a), _headline("B", view.b), ""]
    same = 0
    for pair in view.steps:
        if pair.same:
            same += 1
            continue
        lines += _equal(same)
        same = 0
        lines += [f"- {_line(pair.a)}"] if pair.a is not None else []
        lines += [f"+ {_line(pair.b)}"] if pair.b is not None else []
    lines += _equal(same)
    if view.cut:
        lines.append(f"(only the first {MOST_STEPS:,} steps are compared)")
    if view.same_answer and view.a.answer:
        lines += ["", "Both give the same answer."]
    return "\n".join(lines)


def _equal(count: int) -> list[str]:
    return [f"= {count} equal step(s)"] if count else []


def _headline(letter: str, side: SideView) -> str:
    cost = "cost unknown" if side.cost is None else f"${side.cost:.4f}"
    origin = f", forked from {side.parent} at {side.forked_at}" if side.parent else ""
    return (
        f"{letter} {side.run} {side.state}, {', '.join(side.models) or 'no model'}: "
        f"{side.model_calls} model call(s), {side.tool_calls} tool call(s), {side.tokens:,} "
        f"tokens, {cost}, {side.seconds:.1f} s{origin}"
    )


def _line(step: StepView) -> str:
    text = " ".join(step.text.split())
    text = text if len(text) <= 300 else f"{text[:300]} ..."
    head = " ".join(part for part in (step.name, step.arguments) if part)
    return f"{step.seq} {step.kind}{f' {head}' if head else ''}: {text}"
