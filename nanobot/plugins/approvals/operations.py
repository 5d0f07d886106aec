"""Operations on approvals, and on the permissions that make them unnecessary."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError, NotAllowed, UnknownId, UsageError
from nanobot.messages import Choice, Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Limit, Positional, for_owners
from nanobot.operations.rendering import Now
from nanobot.plugins.approvals.port import ApprovalAnswer, Approvals
from nanobot.plugins.approvals.question import decisions, may_judge, outcome
from nanobot.plugins.common.approvals import Approver, RuleView, may_answer
from nanobot.plugins.common.views.shown_calls import fenced, whole_call
from nanobot.session.approvals import OPEN, Approval, State
from nanobot.session.states import RunKind
from nanobot.text import Sentence

_Number: TypeAlias = Annotated[int, Meta(ge=1, description="The question's number.")]
_LOOKED_THROUGH = 1_000


def _person(caller: Caller) -> Approver:
    channel = "" if caller.address is None else caller.address.channel
    return Approver(role=caller.role, channel=channel, id=caller.by, name=caller.name)


def _approvals(context: OperationContext) -> Approvals:
    return context.of(Approvals)  # type: ignore[type-abstract]


class ApprovalView(Approval, frozen=True, kw_only=True):
    """An approval or question, as one person sees it. `yours`: whether this person may answer it.
    `unseen`: the call does not fit into its question, so a person must have the whole call shown
    before they can approve it."""

    SHOWN: ClassVar = ("id", "state", "tool", "question", "arguments", "address", "asked_at")

    yours: bool
    unseen: bool = False


def _view(row: Approval, person: Approver) -> ApprovalView:
    yours = may_answer(row, person)
    unseen = not may_judge(row, person)
    return ApprovalView(**msgspec.structs.asdict(row), yours=yours, unseen=unseen)


async def _known(context: OperationContext, caller: Caller, number: int) -> Approval:
    """The approval of that number. Raises UnknownId, also for one that its caller cannot know."""
    approval = await _approvals(context).approval(number)
    if approval is not None:
        shown = caller.address in approval.asked_in or caller.owns(approval.session_key)
        if shown or may_answer(approval, _person(caller)):
            return approval
    raise UnknownId(f"There is no approval #{number}; `approvals list` shows all.")


async def _decide(
    context: OperationContext, caller: Caller, number: int, answer: ApprovalAnswer
) -> Approval:
    engine, approvals = context.engine, _approvals(context)
    approval = await _known(context, caller, number)
    if not may_answer(approval, _person(caller)):
        raise NotAllowed(f"You may not decide #{number}.")
    if bool(approval.question) != (answer.state == "answered"):
        right = f"/answer {number} TEXT" if approval.question else f"/approve {number}"
        raise UsageError(f"#{number} takes another answer: {right}")
    if answer.text.isdecimal() and 1 <= int(answer.text) <= len(approval.choices):
        text = approval.choices[int(answer.text) - 1]
        answer = msgspec.structs.replace(answer, text=text)
    if answer.state == "approved" and not may_judge(approval, _person(caller)):
        raise UsageError(f"#{number} is longer than its question: /show {number} shows all of it")
    decided = await approvals.answer(number, answer)
    for address in approval.asked_in:
        engine.bus.owed(address)
    engine.bus.wake(approval.session_key, RunKind.CHAT)
    if decided is None or not decided.fresh:
        raise NanobotError(f"{outcome(approval if decided is None else decided.approval)}.")
    return decided.approval


def _decided_text(approval: Approval, _: Now) -> Sentence:
    what = approval.question or f"{approval.tool} (#{approval.id})"
    if approval.state == "approved":
        return f"Approved: {what}"
    if approval.state == "denied":
        return f"Denied: {what}"
    return f"Answered: {what}" if approval.state == "answered" else f"Expired: {what}"


@operation(
    "approvals list",
    reads=True,
    role=Role.MEMBER,
    example="state=approved",
    empty="No approvals are pending.",
    shows=("approvals",),
)
async def list_approvals(
    context: OperationContext,
    caller: Caller,
    state: Annotated[
        Literal["open", "all", "", State],
        Meta(description="Filter by state; `open` lists those that still count."),
    ] = "open",
    limit: Limit = 20,
) -> list[ApprovalView]:
    """List calls and questions that need an answer."""
    records, person = _approvals(context), _person(caller)
    wanted = "" if state == "all" else state
    if caller.role is Role.OWNER:
        found = await records.approvals(session="", state=wanted, limit=limit)
    else:
        rows = await records.approvals(session="", state=wanted, limit=_LOOKED_THROUGH)
        found = [row for row in rows if caller.owns(row.session_key) or may_answer(row, person)]
    return [_view(row, person) for row in found[:limit]]


def _whole_text(approval: ApprovalView, _: Now) -> Sentence:
    call = fenced(whole_call(approval.tool, approval.arguments))
    return f"All of #{approval.id}:\n\n{approval.question or call}"


def _buttons(approval: ApprovalView) -> tuple[Choice, ...]:
    decides = approval.yours and approval.state in OPEN and not approval.question
    return decisions(approval) if decides else ()


@operation(
    "show",
    role=Role.MEMBER,
    text=_whole_text,
    choices=_buttons,
    command="approvals show",
    example="3",
)
async def show_approval(context: OperationContext, caller: Caller, id: _Number) -> ApprovalView:
    """Show all of a call that is too long for its question.

    Only a person who was shown all of it can approve it.
    """
    records, person = _approvals(context), _person(caller)
    approval = await _known(context, caller, id)
    if not (may_answer(approval, person) or caller.sees(approval.session_key)):
        raise NotAllowed(f"#{id} is not yours to see.")
    await records.seen(id, person.key)
    return _view(await records.approval(id) or approval, person)


@operation(
    "approve",
    role=Role.MEMBER,
    text=_decided_text,
    command="approvals approve",
    example="3 always",
)
async def approve(
    context: OperationContext,
    caller: Caller,
    id: _Number,
    *,
    always: Annotated[
        bool,
        for_owners("Only owners can allow something permanently."),
        Meta(description="Always allow this in this chat."),
    ] = False,
) -> Approval:
    """Approve a pending call.

    It counts for exactly this call, once. With `always`, the same call needs no more approvals in
    that conversation.
    """
    answer = ApprovalAnswer(state="approved", by=_person(caller).shown, always=always)
    return await _decide(context, caller, id, answer)


@operation("deny", role=Role.MEMBER, text=_decided_text, command="approvals deny", example="3")
async def deny(context: OperationContext, caller: Caller, id: _Number) -> Approval:
    """Deny a pending call.

    The model is told.
    """
    answer = ApprovalAnswer(state="denied", by=_person(caller).shown)
    return await _decide(context, caller, id, answer)


@operation(
    "answer",
    role=Role.MEMBER,
    text=_decided_text,
    command="approvals answer",
    example="3 the blue one",
)
async def answer_question(
    context: OperationContext,
    caller: Caller,
    id: _Number,
    text: Annotated[Positional, Meta(description="The number of a choice, or your own words.")],
) -> Approval:
    """Answer a question from the assistant."""
    by, program = _person(caller).shown, caller.program
    words = ApprovalAnswer(state="answered", by=by, text=text, program=program)
    return await _decide(context, caller, id, words)


@operation("policy rules", reads=True, shows=("approval_rules",))
async def list_rules(context: OperationContext, _: Caller) -> list[RuleView]:
    """List permanent permissions."""
    return await _approvals(context).rules()


@operation("policy forget", example="2")
async def forget_rule(
    context: OperationContext, _: Caller, id: Annotated[int, Meta(ge=1, description="The rule.")]
) -> Sentence:
    """Revoke a permanent permission."""
    if not await _approvals(context).forget_rule(id):
        raise UnknownId(f"There is no rule {id}; `policy rules` lists them.")
    return f"Revoked rule {id}: such calls ask again."


def operations() -> list[Operation]:
    """What people can do with them."""
    return [
        *(list_approvals, show_approval, approve, deny, answer_question),
        *(list_rules, forget_rule),
    ]
