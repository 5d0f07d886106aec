"""Operations on what waits for a person's word, and on the rules that say what does."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.errors import NanobotError, UsageError
from nanobot.messages import Role
from nanobot.operations.operation import (
    Arguments,
    Caller,
    First,
    Limit,
    Operation,
    OperationContext,
)
from nanobot.session.approvals import (
    Approval,
    ApprovalAnswer,
    Approver,
    RuleView,
    may_answer,
    outcome,
)
from nanobot.session.states import RunKind
from nanobot.tools.policy_explain import PolicyExplanation, PolicyQuestion, explain


class _ListApprovals(Arguments, frozen=True, kw_only=True):
    state: Annotated[
        Literal[
            "open", "", "waiting", "detached", "approved", "denied", "answered", "expired", "void"
        ],
        Meta(description='Only in this state: open, approved, denied ...; "": in any.'),
    ] = "open"
    limit: Limit = 20


class _Approve(Arguments, frozen=True, kw_only=True):
    id: Annotated[int, Meta(ge=1, description="What was asked.")]
    always: Annotated[
        Literal["", "always"],
        Meta(description='"always": in this chat from now on.', extra={"positional": True}),
    ] = ""


class _Deny(Arguments, frozen=True, kw_only=True):
    id: Annotated[int, Meta(ge=1, description="What was asked.")]


class _Answer(_Deny, frozen=True, kw_only=True):
    text: Annotated[First, Meta(description="The number of a choice, or words.")]


class _Explain(Arguments, frozen=True, kw_only=True):
    tool: Annotated[First, Meta(description="The tool.")]
    text: Annotated[First, Meta(description="Its arguments: JSON, or the first one as text.")] = ""
    role: Annotated[Literal["owner", "member", "guest"], Meta(description="Whose run.")] = "owner"
    channel: Annotated[str, Meta(description="Where.")] = ""
    chat: Annotated[str, Meta(description="In which chat.")] = ""
    tainted: Annotated[bool, Meta(description="In a run that saw content from outside.")] = False


class _Rule(Arguments, frozen=True, kw_only=True):
    id: Annotated[int, Meta(ge=1, description="The rule.")]


async def _list(
    operations: OperationContext, caller: Caller, asked: _ListApprovals
) -> list[Approval]:
    session = "" if caller.role is Role.OWNER else caller.session_key
    records = operations.engine.records
    return await records.approvals(session=session, state=asked.state, limit=asked.limit)


async def _approve(operations: OperationContext, caller: Caller, asked: _Approve) -> Approval:
    if asked.always and caller.role is not Role.OWNER:
        raise UsageError("Only owners allow something for good.")
    given = ApprovalAnswer(state="approved", by=_person(caller).shown, always=bool(asked.always))
    return await _decide(operations, caller, asked.id, given)


async def _deny(operations: OperationContext, caller: Caller, asked: _Deny) -> Approval:
    given = ApprovalAnswer(state="denied", by=_person(caller).shown)
    return await _decide(operations, caller, asked.id, given)


async def _answer(operations: OperationContext, caller: Caller, asked: _Answer) -> Approval:
    given = ApprovalAnswer(state="answered", by=_person(caller).shown, text=asked.text)
    return await _decide(operations, caller, asked.id, given)


def _person(caller: Caller) -> Approver:
    channel = "" if caller.address is None else caller.address.channel
    return Approver(role=caller.role, channel=channel, id=caller.by, name=caller.name)


async def _decide(
    operations: OperationContext, caller: Caller, number: int, given: ApprovalAnswer
) -> Approval:
    engine = operations.engine
    known = await engine.records.approval(number)
    if known is None:
        raise NanobotError(f"Nothing of the number {number} was asked; `approvals list` shows all.")
    if not may_answer(known, _person(caller)):
        raise NanobotError(f"#{number} is not yours to decide.")
    if bool(known.question) != (given.state == "answered"):
        right = f"/answer {number} TEXT" if known.question else f"/approve {number}"
        raise UsageError(f"#{number} takes another answer: {right}")
    if given.text.isdecimal() and 1 <= int(given.text) <= len(known.choices):
        given = ApprovalAnswer(
            state="answered", by=given.by, text=known.choices[int(given.text) - 1]
        )
    decided = await engine.journal.answer(number, given)
    engine.bus.wake(known.session_key, RunKind.CHAT)
    if decided is None or not decided.fresh:
        now = known if decided is None else decided.approval
        raise NanobotError(f"{outcome(now)}.")
    return decided.approval


def _decided_text(approval: Approval, _: float) -> str:
    what = approval.question or f"{approval.tool} (#{approval.id})"
    return f"{approval.state.capitalize()}: {what}"


async def _explain(operations: OperationContext, _: Caller, asked: _Explain) -> PolicyExplanation:
    given = PolicyQuestion(**{name: getattr(asked, name) for name in asked.__struct_fields__})
    return await explain(operations.engine.tools, given)


async def _rules(operations: OperationContext, _: Caller, __: Arguments) -> list[RuleView]:
    return await operations.engine.records.rules()


async def _forget(operations: OperationContext, _: Caller, asked: _Rule) -> str:
    if not await operations.engine.records.forget_rule(asked.id):
        raise NanobotError(f"There is no rule {asked.id}; `policy rules` shows those there are.")
    return f"Rule {asked.id} is gone: it is asked about again."


APPROVING: tuple[Operation, ...] = (
    Operation(
        name="approvals list",
        help="lists what waits for somebody's word",
        run=_list,
        arguments=_ListApprovals,
        returns=list[Approval],
        role=Role.MEMBER,
    ),
    Operation(
        name="approve",
        help="lets me do what I asked about",
        run=_approve,
        arguments=_Approve,
        returns=Approval,
        text=_decided_text,
        role=Role.MEMBER,
        command="approvals approve",
    ),
    Operation(
        name="deny",
        help="refuses what I asked about",
        run=_deny,
        arguments=_Deny,
        returns=Approval,
        text=_decided_text,
        role=Role.MEMBER,
        command="approvals deny",
    ),
    Operation(
        name="answer",
        help="answers a question of mine",
        run=_answer,
        arguments=_Answer,
        returns=Approval,
        text=_decided_text,
        role=Role.MEMBER,
        command="approvals answer",
    ),
    Operation(
        name="policy explain",
        help="says whether a call would be made, and by which rule",
        run=_explain,
        arguments=_Explain,
        returns=PolicyExplanation,
    ),
    Operation(
        name="policy rules",
        help="lists what was allowed for good",
        run=_rules,
        returns=list[RuleView],
    ),
    Operation(
        name="policy forget",
        help="takes such a permission back",
        run=_forget,
        arguments=_Rule,
        returns=str,
    ),
)
