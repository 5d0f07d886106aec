"""How background runs are delayed, stopped and reported, within transactions of the journal."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot import labels
from nanobot.messages import InboundMessage, Origin, OutboundKind, OutboundMessage, Sender
from nanobot.plugins.common.store import task_tables
from nanobot.plugins.common.store.run_roots import beginning
from nanobot.session.inbox import Admission
from nanobot.session.keys import REPORTS
from nanobot.session.runs import Ending, Run
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import inbox, log, outbox, runs
from nanobot.store.records import below
from nanobot.store.unit import TaskEnds, Unit
from nanobot.text import title_of

_t = task_tables.tasks
_s = schema.sessions

_PEOPLE = frozenset({Origin.USER, Origin.API, Origin.APPROVAL})
_VERBS = {
    RunState.COMPLETED: "completed",
    RunState.FAILED: "failed",
    RunState.ABORTED: "cancelled",
}


class SqlTaskEnds(TaskEnds):
    """See nanobot.store.unit.TaskEnds."""

    def stop_below(self, unit: Unit, session_key: str, sender_id: str | None, by: str) -> None:
        """End the live background runs there. Stopping a conversation with everything it started
        has ended its runs before; this handles one that started just afterwards.
        """
        ending = Ending(state=RunState.ABORTED, error="stopped")
        for run_id in below(unit, session_key, sender_id):
            runs.cancel(unit, run_id, ending, by)

    def waits(self, unit: Unit, run: Run) -> float:
        if run.state is not RunState.QUEUED:
            return 0.0
        at = unit.scalar(sa.select(_t.c.not_before).where(_t.c.run_id == run.id)) or 0.0
        # Never longer than its original limit, whatever the clock does.
        return max(min(at - unit.now, at - run.created_at), 0.0)

    def report(self, unit: Unit, run: Run, ending: Ending) -> None:
        """Report by a message to the model of the conversation, or by a post. A run without a
        conversation reports in its own session, which becomes a conversation. Cancelling is an
        answer itself: the model has nothing to do then.
        """
        task = unit.execute(sa.select(_t).where(_t.c.run_id == run.id)).first()
        if task is None:
            return
        text = "\n\n".join(message.text for message in ending.outbound)
        head = f"Task {_VERBS[ending.state]}: {task.title}"
        tainted = ending.tainted or task.tainted
        label = labels.read(ending.label, tainted=tainted).encoded()
        key = run.parent_session or run.session_key
        log.ensure_session(unit, key, head)
        follows_up = task.report == "follow_up" and ending.state is not RunState.ABORTED
        if run.parent_session and follows_up:
            message = InboundMessage(
                address=run.address,
                message_id="",
                dedupe_key=REPORTS.of(run.id),
                sender=Sender(run.sender_id),
                text=f"[background run {run.id}] {head}\n\n{text}",
                sent_at=unit.now,
                origin=Origin.RUN,
                tainted=tainted,
                label=label,
            )
            follow_up = Admission(message=message, session_key=key, role=run.role)
            inbox.insert(unit, follow_up)
            return
        if run.parent_session is None:
            named = sa.update(_s).where(_s.c.key == key).values(title=title_of(head))
            unit.execute(named)
        post = OutboundMessage(
            address=run.address,
            text=f"{head}\n\n{text}".strip(),
            key=f"{run.id}:report",
            kind=OutboundKind.POST,
            tainted=tainted,
            label=label,
            requested=_promised(unit, run),
        )
        outbox.post(unit, key, post)


def _promised(connection: Connection, run: Run) -> bool:
    """Whether a person, or a program of theirs, was told to expect this report."""
    if run.parent_session is None:
        return False
    root = beginning(connection, run)
    return root.run_id == run.id or root.origin in _PEOPLE
