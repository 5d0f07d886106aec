"""How approvals and questions are decided: once, with what becomes of the run."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.labels import NOTHING, Label, Privacy, Speaker
from nanobot.messages import InboundMessage, Origin, Sender
from nanobot.plugins.approvals.port import AnswerOutcome, ApprovalAnswer
from nanobot.plugins.approvals.question import message, result, still_waits, subject
from nanobot.plugins.approvals.store import waiting
from nanobot.plugins.common.store import rule_tables
from nanobot.session.approvals import OPEN, Approval, State
from nanobot.session.entries import DeniedEntry
from nanobot.session.inbox import Admission
from nanobot.session.keys import APPROVALS
from nanobot.session.labelling import of_result
from nanobot.session.runs import Lane, Run
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import inbox, log, outbox, runs
from nanobot.store.unit import Unit

_a = schema.approvals
_UNLABELLED = {False: "om2", True: "omgpftx2:*"}
"""The scope of a rule, by `tainted`, if its question is from before labels. Same as in r0012."""


def answer(unit: Unit, identity: int, answer: ApprovalAnswer) -> AnswerOutcome | None:
    """See nanobot.plugins.approvals.port.Approvals."""
    key = unit.scalar(sa.select(_a.c.session_key).where(_a.c.id == identity))
    if key is None:
        return None
    lane = log.lane_of(unit, key)
    approval = waiting.load(unit, _a.c.id == identity)
    if approval is None or approval.state not in OPEN:
        return None if approval is None else AnswerOutcome(approval, fresh=False)
    live, now = runs.live(unit, key), unit.now
    if approval.expires_at <= now:  # a parked run finds that out itself
        if approval.state == "detached":
            approval = close(unit, approval, "expired", "")
        return AnswerOutcome(msgspec.structs.replace(approval, state="expired"), fresh=False)
    done = close(unit, approval, answer.state, answer.by, answer.text)
    if answer.always:
        _allow_for_good(unit, done, now)
    if approval.state == "waiting" and live is not None:
        resume(unit, lane, live, done, _said(answer))
    elif answer.state == "denied":
        note = DeniedEntry(text=f"#{done.id} ({done.tool}) was denied by {answer.by}")
        log.append(unit, lane, done.run_id, [note])
    else:
        inbox.insert(unit, _follow_up(done, now, _said(answer)))
    return AnswerOutcome(done, fresh=True)


def close(
    unit: Unit,
    approval: Approval,
    state: State,
    by: str,
    text: str = "",
) -> Approval:
    """Record the decision, and show it in the chats that were asked."""
    now = unit.now
    done = msgspec.structs.replace(
        approval, state=state, decided_at=now, decided_by=by, answer=text
    )
    values = {"state": state, "body": msgspec.json.encode(done)}
    unit.execute(sa.update(_a).where(_a.c.id == approval.id).values(values))
    if state not in OPEN:
        notices = [message(done, address) for address in approval.asked_in]
        outbox.owe(unit, approval.session_key, approval.run_id, notices)
    return done


def resume(unit: Unit, lane: Lane, run: Run, done: Approval, said: Label = NOTHING) -> None:
    """Continue a parked run with the decision. `said`: the label of an answer."""
    waiting.resume(unit, lane, run, done, result(done), said)
    if done.state == "detached":
        outbox.owe(unit, done.session_key, run.id, [still_waits(done)])


def _allow_for_good(connection: Connection, done: Approval, now: float) -> None:
    asked = labels.read(done.label or _UNLABELLED[done.tainted])
    row = {
        "session_key": done.session_key,
        "tool": done.tool,
        "subject": subject(done),
        "tainted": done.tainted,
        "by": done.decided_by,
        "created_at": now,
        "label": asked.join(of_result(done.tool, tainted=done.tainted)).encoded(),
    }
    connection.execute(sa.insert(rule_tables.approval_rules), row)


def _said(answer: ApprovalAnswer) -> Label:
    """The label of the words of an answer by command."""
    secret = labels.is_marked_secret(answer.text)
    label = labels.of(privacy=Privacy.SECRET) if secret else NOTHING
    if answer.program and answer.text:
        label = label.join(labels.of(Speaker.PROGRAM, privacy=Privacy.CONVERSATION))
    return label


def _follow_up(done: Approval, now: float, said: Label) -> Admission:
    """The message that brings a late answer to a run that continued without it. It repeats the
    model's question, or leads to the model's call, so it also has the label of what the model saw.
    `said`: the label of the answer.
    """
    key = APPROVALS.of(done.id)
    text = f"(answering: {done.question})\n{done.answer}"
    if not done.question:
        text = f"#{done.id} was approved by {done.decided_by} and is executed now:"
    label = done.label
    if said != NOTHING:
        label = labels.read(label, tainted=done.tainted).join(said).encoded()
    question = InboundMessage(
        address=done.address,
        message_id=key,
        dedupe_key=key,
        sender=Sender(done.sender_id, done.sender_name),
        text=text,
        sent_at=now,
        origin=Origin.USER if done.question else Origin.APPROVAL,
        tainted=done.tainted or said.tainted,
        label=label,
    )
    return Admission(message=question, session_key=done.session_key, role=done.role)
