"""Approval requests: made from the run, the call, and the reason for asking."""

from __future__ import annotations

from contextlib import suppress

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.step import PendingCall
from nanobot.boundary import boundary
from nanobot.errors import ToolArgumentsError
from nanobot.messages import Origin
from nanobot.plugins.common.approvals import Approver, may_approve
from nanobot.plugins.common.keys.approval_settings import ApprovalSettings
from nanobot.seam.given import of_kind
from nanobot.session.approvals import Approval, digest
from nanobot.tools.base import AnyTool, Question
from nanobot.tools.registry import parsed
from nanobot.tools.toolbox import Toolbox
from nanobot.tools.verdict import PolicyDecision


def request(
    tools: Toolbox, active: ActiveRun, pending: PendingCall, decision: PolicyDecision, now: float
) -> Approval | None:
    """The request for approval; None if no person can be asked: the requester of the run waits for
    its end, or the run was not started by a person and the call puts a question. A program that
    approves every call itself is asked by an event.
    """
    run, call = active.run, pending.call
    settings = ApprovalSettings.within(tools.asking)
    options = [entry.options for entry in active.messages if entry.options is not None]
    tool = tools.tool(call.name)
    question = _question(tool, call.arguments)
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
        model_call=pending.model_call,
        index=pending.index,
        tool=call.name,
        arguments=call.arguments,
        digest=digest(call.name, call.arguments),
        why=decision.why,
        rule=decision.rule,
        question=question.text,
        choices=question.choices,
        address=run.address,
        sender_id=run.sender_id,
        sender_name=next((entry.sender_name for entry in active.messages), ""),
        role=run.role,
        tainted=active.tainted,
        label=active.label.encoded(),
        version="" if tool is None else tool.version,
        unaccepted=tool is not None and bool(tool.unaccepted),
        host=_host(tool, call.arguments),
        here=here or program,
        direct=program,
        approvers=settings.approvers,
        asked_at=now,
        expires_at=now + seconds,
    )


def _host(tool: AnyTool | None, arguments: str) -> str:
    """The internet host that a call contacts, if it is known."""
    if tool is None or tool.host is None:
        return ""
    with boundary(f"the host of a call of the tool {tool.name}"), suppress(ToolArgumentsError):
        return of_kind(tool.host(parsed(tool, arguments)), str)
    return ""


def _question(tool: AnyTool | None, arguments: str) -> Question:
    """The question that a call puts to a person; an empty one if it has none."""
    if tool is None or tool.question is None:
        return Question("")
    with boundary(f"the question of the tool {tool.name}"), suppress(ToolArgumentsError):
        return of_kind(tool.question(parsed(tool, arguments)), Question)
    return Question("")
