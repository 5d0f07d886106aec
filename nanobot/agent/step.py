"""The next step of a run: one pure function over its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from nanobot.providers.base import ToolCall
from nanobot.session.approvals import digest
from nanobot.session.entries import (
    CUT_OFF,
    ApprovalEntry,
    Body,
    CancelEntry,
    DecisionEntry,
    Entry,
    ModelCallEntry,
    ObjectionEntry,
    OverflowEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
    UserEntry,
)
from nanobot.text import Sentence
from nanobot.visible import blank

SAME_RESULT_LIMIT = 3
_MOST_MS = 10**12

INTERRUPTED = (
    f"{CUT_OFF}: the process ended while this call was running. "
    "It may or may not have taken effect; check before doing it again."
)
TRUNCATED = (
    "not executed: your answer was cut off at the token limit, so these arguments may be "
    "incomplete. Call again with less text, or in smaller pieces."
)
REPEATED = (
    "not executed: you have made this very call {count} times and got the same result each time. "
    "Use what you have, try something else, or tell the person what you need."
)
ANOTHER_CALL = "not executed: the approval is for another call"


class StepLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run. Seconds are the sum of recorded steps, without waiting."""

    max_iterations: int = 25
    max_tool_rounds: int = 20
    max_tool_calls: int = 100
    max_run_seconds: float = 300.0


class PendingCall(msgspec.Struct, frozen=True):
    """A call without a result."""

    model_call: int
    index: int
    call: ToolCall
    refusal: str | None = None
    """With it, the call is not made, and this text is its result."""
    approval: int | None = None
    """The one it waits for."""
    approved: bool = False
    """It was given, for that `version` of the tool."""
    version: str = ""
    judged: str = ""
    """The policy's verdict and rule."""


class CallModel(msgspec.Struct, frozen=True):
    """Ask the model; `call` is the number of this call within the run. `overflowed`: the last
    prompt was too long, so the window must be cut first."""

    call: int
    overflowed: bool = False


class RunTools(msgspec.Struct, frozen=True):
    """Make these calls, in order."""

    calls: tuple[PendingCall, ...]


class AskHuman(msgspec.Struct, frozen=True):
    """Wait, as a row, for a person's answer to this approval."""

    approval: int


class Finish(msgspec.Struct, frozen=True):
    """Answer with this text. `warning` says what is wrong with it, if anything."""

    text: str
    warning: Sentence | None = None


class Stop(msgspec.Struct, frozen=True):
    """End without a final answer. `reason`: limit_... or cancelled; `text`: a partial answer."""

    reason: str
    text: str = ""


_History: TypeAlias = dict[str, list[str]]
"""The results of each distinct call of a tool so far, by its signature."""
Step: TypeAlias = CallModel | RunTools | AskHuman | Finish | Stop


def elapsed_seconds(bodies: Sequence[Body]) -> float:
    """The duration of a run so far: the sum of its recorded steps."""
    ms = sum([getattr(body, "ms", 0) for body in bodies])
    return min(max(ms, 0), _MOST_MS) / 1000


def own(run_id: str, entries: Sequence[Entry]) -> list[Body]:
    """The bodies of one run's entries, in order."""
    return [entry.body for entry in entries if entry.run_id == run_id and entry.body is not None]


def next_step(run_id: str, entries: Sequence[Entry], limits: StepLimits) -> Step:
    """The next step of the run, from its log alone.

    Unfinished calls come first, then the limits, then an existing answer, else the model.
    """
    bodies = own(run_id, entries)
    if [body for body in bodies if type(body) is CancelEntry]:  # faster than any()
        return Stop("cancelled")
    reply = _last_reply(bodies)
    if reply is not None:
        pending = _pending(bodies, reply)
        if pending:
            return _next_tools(bodies, pending, limits)
        if not reply.tool_calls and not reply.partial:
            return _answer(reply)
    following = _next_call(bodies, limits)
    if isinstance(following, Stop) and (kept := kept_answer(bodies)) is not None:
        return kept
    return following


def may_object(bodies: Sequence[Body], limits: StepLimits) -> bool:
    """Whether an answer may be held back: none was before, and the model may be asked again."""
    if any(isinstance(body, ObjectionEntry) for body in bodies):
        return False
    return isinstance(_next_call(bodies, limits), CallModel)


def kept_answer(bodies: Sequence[Body]) -> Finish | None:
    """The answer that an objection held back, if the model gave nothing since and cannot be asked
    again. None if it gave something, or the person sent a message."""
    later: list[Body] = []
    for body in reversed(bodies):
        if isinstance(body, ObjectionEntry):
            held = (b for b in bodies if isinstance(b, ReplyEntry) and b.call == body.call)
            given = any(
                isinstance(b, UserEntry) or (isinstance(b, ReplyEntry) and not b.partial)
                for b in later
            )
            reply = next(held, None)
            return None if given or reply is None else _answer(reply)
        later.append(body)
    return None


def _next_tools(
    bodies: Sequence[Body], pending: Sequence[PendingCall], limits: StepLimits
) -> RunTools | AskHuman | Stop:
    asked = [b for b in bodies if isinstance(b, ReplyEntry) and b.tool_calls]
    if len(asked) > limits.max_tool_rounds:
        return Stop("limit_tool_rounds", last_text(bodies))
    if pending[0].approval is not None:
        return AskHuman(pending[0].approval)
    left = limits.max_tool_calls - len([b for b in bodies if isinstance(b, ToolResultEntry)])
    if left <= 0:
        return Stop("limit_tool_calls", last_text(bodies))
    return RunTools(tuple(pending[:left]))


def _next_call(bodies: Sequence[Body], limits: StepLimits) -> CallModel | Stop:
    cut = [b for b in bodies if isinstance(b, ReplyEntry) and b.cut_by_limit]
    if cut or elapsed_seconds(bodies) >= limits.max_run_seconds:
        return Stop("limit_seconds", last_text(bodies))
    calls = len([body for body in bodies if isinstance(body, ModelCallEntry)])
    if calls >= limits.max_iterations:
        return Stop("limit_iterations", last_text(bodies))
    return CallModel(calls + 1, overflowed=_overflowed(bodies))


def _answer(reply: ReplyEntry) -> Finish:
    if reply.finish_reason == "length":
        return Finish(reply.text, "the answer was cut off at max_tokens")
    if reply.finish_reason == "content_filter":
        return Finish(reply.text, "the provider's content filter cut this answer")
    return Finish(reply.text)


def _last_reply(bodies: Sequence[Body]) -> ReplyEntry | None:
    """The current reply: the latest, unless the person sent a message after it, or a check objected
    to it."""
    for body in reversed(bodies):
        if isinstance(body, ReplyEntry):
            return body
        if isinstance(body, UserEntry | ObjectionEntry):
            return None
    return None


def last_text(bodies: Sequence[Body]) -> str:
    """The model's latest text."""
    texts = [b.text for b in bodies if isinstance(b, ReplyEntry) and not blank(b.text)]
    return texts[-1] if texts else ""


def _overflowed(bodies: Sequence[Body]) -> bool:
    for body in reversed(bodies):
        if isinstance(body, OverflowEntry):
            return True
        if isinstance(body, ModelCallEntry):
            return False
    return False


def _pending(bodies: Sequence[Body], reply: ReplyEntry) -> list[PendingCall]:
    results = {b.index for b in bodies if type(b) is ToolResultEntry and b.call == reply.call}
    started = {b.index for b in bodies if type(b) is ToolStartedEntry and b.call == reply.call}
    # Uses only entries before the reply, so that a crash between its calls changes no refusal.
    before, histories, pending = bodies[: bodies.index(reply)], dict[str, _History](), []
    for index, call in enumerate(reply.tool_calls):
        if index in results:
            continue
        if call.name not in histories:
            histories[call.name] = _history(before, call.name)
        refusal = _refusal(reply, call, histories[call.name], was_started=index in started)
        pending.append(_decided(bodies, PendingCall(reply.call, index, call, refusal)))
    return pending


def _decided(bodies: Sequence[Body], pending: PendingCall) -> PendingCall:
    """The call with the person's decision about it, if any."""
    approvals = [b for b in bodies if isinstance(b, ApprovalEntry) and b.call == pending.model_call]
    approval = next((b for b in approvals if b.index == pending.index), None)
    if approval is None or pending.refusal is not None:
        return pending
    verdicts = [b.verdict for b in bodies if isinstance(b, DecisionEntry) and b.id == approval.id]
    if "approved" not in verdicts:
        return msgspec.structs.replace(pending, approval=approval.id)
    if approval.digest != digest(pending.call.name, pending.call.arguments):
        return msgspec.structs.replace(pending, refusal=ANOTHER_CALL)
    return msgspec.structs.replace(pending, approved=True, version=approval.version)


def _refusal(
    reply: ReplyEntry, call: ToolCall, history: _History, *, was_started: bool
) -> str | None:
    if reply.finish_reason == "length":
        return TRUNCATED
    if was_started:
        return INTERRUPTED
    past_results = history.get(signature(call.name, call.arguments), []) if history else []
    tail = past_results[-SAME_RESULT_LIMIT:]
    if len(tail) == SAME_RESULT_LIMIT and len(set(tail)) == 1:
        return REPEATED.format(count=len(past_results))
    return None


def signature(name: str, arguments: str) -> str:
    """What makes two calls the same: the tool, and its arguments whatever their order."""
    try:
        canonical = msgspec.json.encode(msgspec.json.decode(arguments), order="sorted").decode()
    except (msgspec.DecodeError, RecursionError):
        return f"{name} {arguments}"
    return f"{name} {canonical}"


def _history(bodies: Sequence[Body], name: str) -> _History:
    """The history of a tool; empty while too few calls were made to refuse one. Refusals of a
    repeated call count as the same result, so a stubborn model keeps being refused."""
    calls = {
        (body.call, index): call
        for body in bodies
        if isinstance(body, ReplyEntry)
        for index, call in enumerate(body.tool_calls)
        if call.name == name
    }
    history: _History = {}
    if len(calls) < SAME_RESULT_LIMIT:
        return history
    same = {each: signature(name, each) for each in {call.arguments for call in calls.values()}}
    for body in bodies:
        if not isinstance(body, ToolResultEntry):
            continue
        if (call := calls.get((body.call, body.index))) is None:
            continue
        past = history.setdefault(same[call.arguments], [])
        repeated = past and body.text.startswith(REPEATED[:40])
        past.append(past[-1] if repeated else body.text)
    return history
