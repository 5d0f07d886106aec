"""Approval requests: made from the run, the call, and the reason for asking."""

from __future__ import annotations

from nanobot.agent.asking import CallSite
from nanobot.messages import Origin
from nanobot.plugins.common.approvals import Approver, may_approve
from nanobot.providers.base import ToolCall
from nanobot.session.approvals import Approval, digest
from nanobot.tools.base import Question
from nanobot.tools.toolbox import Toolbox
from nanobot.tools.verdict import PolicyDecision


def request(
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
