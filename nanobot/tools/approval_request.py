"""Approval requests: made from the run, the call, and the reason for asking."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nanobot.labels import NOTHING, Label
from nanobot.messages import Origin
from nanobot.providers.base import ToolCall
from nanobot.session.approvals import NOBODY, Approval, Approver, digest, may_approve
from nanobot.session.entries import UserEntry
from nanobot.session.runs import Run
from nanobot.tools.base import Question
from nanobot.tools.toolbox import Toolbox
from nanobot.tools.verdict import PolicyDecision

ANOTHER_TOOL = (
    "not executed: its server changed this tool after the call was approved. "
    "Make the call again if it is still needed."
)


class CallSite(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a call: its run, the messages that the run answers, its place in the log."""

    run: Run
    messages: Sequence[UserEntry]
    model_call: int
    index: int
    tainted: bool
    label: Label = NOTHING


def nobody_to_ask(decision: PolicyDecision) -> str:
    """The result for the model if no person can be asked."""
    return NOBODY.format(why=f"It was to be asked because {decision.why}.")


def approval(
    tools: Toolbox, place: CallSite, call: ToolCall, decision: PolicyDecision, now: float
) -> Approval | None:
    """The request for approval; None if no person can be asked: the requester of the run waits for
    its end, or the run was not started by a person and the call puts a question. A program that
    approves every call itself is asked by an event.
    """
    run, settings = place.run, tools.asking
    options = [entry.options for entry in place.messages if entry.options is not None]
    question = tools.question(call.name, call.arguments) or Question("")
    program = any(entry.approve for entry in options) and not question.text
    if any(entry.direct or entry.unattended for entry in options) and not program:
        return None
    asker = Approver(role=run.role, channel=run.address.channel, id=run.sender_id)
    of_person = run.origin in (Origin.USER, Origin.APPROVAL)
    here = of_person and (bool(question.text) or may_approve(settings.approvers, asker))
    if question.text and not here:
        return None
    seconds = settings.question_seconds if question.text else settings.approval_seconds
    return Approval(
        session_key=run.session_key,
        run_id=run.id,
        model_call=place.model_call,
        index=place.index,
        tool=call.name,
        arguments=call.arguments,
        digest=digest(call.name, call.arguments),
        why=decision.why,
        rule=decision.rule,
        question=question.text,
        choices=question.choices,
        address=run.address,
        sender_id=run.sender_id,
        sender_name=next((entry.sender_name for entry in place.messages), ""),
        role=run.role,
        tainted=place.tainted,
        label=place.label.encoded(),
        version=tools.version(call.name),
        unaccepted=tools.unaccepted(call.name),
        host=tools.host(call.name, call.arguments),
        here=here or program,
        direct=program,
        approvers=settings.approvers,
        asked_at=now,
        expires_at=now + seconds,
    )
