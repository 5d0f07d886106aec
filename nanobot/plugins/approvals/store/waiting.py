"""Runs that wait for a person, as rows. While the plugin is off, they continue without the call,
with the next message of their conversation or when their time is up."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import StoreCorrupt
from nanobot.labels import NOTHING, Label
from nanobot.messages import InboundMessage
from nanobot.providers.base import ToolCall
from nanobot.session.approvals import Approval, NobodyReached, ParkResult, State
from nanobot.session.entries import (
    ApprovalEntry,
    Body,
    DecisionEntry,
    ReplyEntry,
    ToolResultEntry,
)
from nanobot.session.keys import APPROVALS
from nanobot.session.labelling import of_result
from nanobot.session.runs import Lane, Run
from nanobot.session.states import RunState
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import inbox, log, runs
from nanobot.store.unit import Unit

_a = schema.approvals

NOT_ON = (
    "not done: a person was asked (#{number}), and the plugin approvals, which takes decisions, is "
    "off here: `nanobot plugins on approvals` switches it on. Go on without it."
)


class UndecidedWaits:
    """See nanobot.store.unit.HumanWaits. Nobody is asked, and nothing is decided."""

    def park(self, unit: Unit, lane: Lane, run: Run, approval: Approval) -> ParkResult:
        return NobodyReached()

    def waits(self, unit: Unit, run: Run) -> float:
        news = self._news(unit, run)
        return 60.0 if news is None else news[2]

    def go_on(self, unit: Unit, lane: Lane, run: Run) -> None:
        news = self._news(unit, run)
        if news is not None:
            approval, state, _ = news
            unit.execute(sa.update(_a).where(_a.c.id == approval.id).values(state=state))
            done = msgspec.structs.replace(approval, state=state)
            resume(unit, lane, run, done, NOT_ON.format(number=done.id))

    def approved(self, unit: Unit, message: InboundMessage) -> list[Body]:
        """It was decided before the plugin was switched off."""
        return approved_call(unit, message)

    @staticmethod
    def _news(unit: Unit, run: Run) -> tuple[Approval, State, float] | None:
        """What a parked run waits for, its state once the wait ends, and how many seconds that
        takes. A detached approval can be decided once the plugin is on."""
        approval = waited_for(unit, run)
        if approval is None:
            return None
        left = max(approval.expires_at - unit.now, 0.0)
        turn = inbox.one_turn(inbox.pending(unit, run.session_key))
        if turn and (held := inbox.hold(turn, unit.now)) < left:
            return approval, "detached", held
        return approval, "expired", left


def waited_for(connection: Connection, run: Run) -> Approval | None:
    """What a parked run waits for; None if its row was removed from outside."""
    mine = (schema.APPROVAL_OPEN, _a.c.run_id == run.id, _a.c.state == "waiting")
    return load(connection, *mine)


def load(connection: Connection, *where: sa.ColumnElement[bool] | sa.TextClause) -> Approval | None:
    """The first approval of which this is true."""
    row = connection.execute(sa.select(_a.c.id, _a.c.state, _a.c.body).where(*where)).first()
    return None if row is None else as_approval(row)


def as_approval(row: Any) -> Approval:
    """Convert a row (id, state, body)."""
    identity, state, body = row
    approval = msgspec.json.decode(body, type=Approval)
    return msgspec.structs.replace(approval, id=identity, state=state)


def resume(
    unit: Unit, lane: Lane, run: Run, done: Approval, result: str, said: Label = NOTHING
) -> None:
    """Log how the wait of a run ended, with the `result` of a call that is not made. `said`: the
    label of the words in it."""
    bodies: list[Body] = [DecisionEntry(id=done.id, verdict=done.state, by=done.decided_by)]
    if done.state != "approved":
        outcome = ToolResultEntry(
            call=done.model_call,
            index=done.index,
            name=done.tool,
            text=result,
            ok=done.state == "answered",
            tainted=said.tainted,
            label=of_result(done.tool, tainted=False).join(said).encoded()
            if said != NOTHING
            else "",
        )
        bodies.append(outcome)
    log.append(unit, lane, run.id, bodies)
    runs.transition(unit, run, RunState.TOOL_RUNNING)


def approved_call(connection: Connection, answer: InboundMessage) -> list[Body]:
    """The run for a late approval begins with the call, as if the model had just made it."""
    approval = load(connection, _a.c.id == int(APPROVALS.id_of(answer.dedupe_key)))
    if approval is None:
        raise StoreCorrupt(f"the approval behind {answer.dedupe_key} is missing")
    call = ToolCall(f"approved_{approval.id}", approval.tool, approval.arguments)
    first = msgspec.structs.replace(approval, model_call=0, index=0)
    reply = ReplyEntry(call=0, text="", tool_calls=(call,), finish_reason="tool_calls")
    return [reply, *entries_of(first)]


def entries_of(approval: Approval) -> list[Body]:
    """What the log says of an approved call."""
    return [
        ApprovalEntry(
            id=approval.id,
            call=approval.model_call,
            index=approval.index,
            digest=approval.digest,
            version=approval.version,
            rule=approval.rule,
        ),
        DecisionEntry(id=approval.id, verdict="approved", by=approval.decided_by),
    ]
