"""The effects of a transaction over jobs: messages, posts, ended runs, and who is notified after
the commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from nanobot.boundary import Caught, boundary
from nanobot.errors import StoreError
from nanobot.labels import Label
from nanobot.messages import Address, InboundMessage, OutboundKind, OutboundMessage, Sender
from nanobot.plugins.common.jobs.job_keys import JOBS
from nanobot.plugins.common.jobs.plans import Fired, Job
from nanobot.plugins.jobs.rules import session_of
from nanobot.plugins.jobs.store import occurrences
from nanobot.plugins.jobs.store.occurrences import Occurrence
from nanobot.session.inbox import Admission
from nanobot.session.runs import Ending, Run
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.journal import inbox, log, outbox, runs
from nanobot.store.unit import Unit

_i = schema.inbound


class Effects:
    """The effects so far, for one job or for a whole transaction."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.now = unit.now
        self.wakes: list[str] = []
        self.owes: list[Address] = []
        self._stopped: list[Run] = []
        self._watched: set[str] = set()

    @contextmanager
    def contained(self, what: str) -> Iterator[tuple[Effects, Caught]]:
        """Wraps the work for one job: if it fails, its changes are rolled back and the other jobs
        continue. Raises StoreError and errors of the database.
        """
        own = Effects(self.unit)
        self.unit.exec_driver_sql("SAVEPOINT job")
        with boundary(what) as caught:
            yield own, caught
        if isinstance(caught.error, DBAPIError | StoreError):
            raise caught.error
        if caught.error is not None:
            self.unit.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
        self.unit.exec_driver_sql("RELEASE SAVEPOINT job")
        if caught.error is None:
            self.wakes += own.wakes
            self.owes += own.owes
            self._stopped += own._stopped
            self._watched |= own._watched

    def begin(
        self, job: Job, scheduled_at: float, text: str, attempt: int = 1, kept: str = ""
    ) -> None:
        """Queue a message in the job's session, which a run will answer."""
        plan, session = job.plan, session_of(job)
        message = InboundMessage(
            address=plan.address,
            message_id="",
            dedupe_key=JOBS.of(job.id, f"{scheduled_at:.3f}", attempt),
            sender=Sender(plan.sender_id, plan.name),
            text=text,
            sent_at=self.now,
            origin=plan.origin,
            tainted=plan.tainted,
            label=plan.label,
            options=plan.options,
            kept=kept,
        )
        log.ensure_session(self.unit, session, plan.name)
        admitted = Admission(message=message, session_key=session, role=plan.role)
        occurrence = Occurrence(
            job_id=job.id,
            scheduled_at=scheduled_at,
            session_key=session,
            attempt=attempt,
            inbound_id=inbox.insert(self.unit, admitted),
        )
        occurrences.begun(self.unit, occurrence)
        self.wake(session)

    def wake(self, session_key: str) -> None:
        """Notify the session of new work, and watch for its end."""
        self.wakes.append(session_key)
        self._watched.add(session_key)

    def watch(self, session_key: str) -> None:
        """Watch for the end of the session's run."""
        self._watched.add(session_key)

    def post(self, job: Job, scheduled_at: float, text: str, label: Label) -> None:
        plan = job.plan
        message = OutboundMessage(
            address=plan.address,
            text=text,
            kind=OutboundKind.POST,
            key=JOBS.of(job.id, f"{scheduled_at:.3f}"),
            tainted=label.tainted,
            label=label.encoded(),
            requested=plan.here or plan.once,
        )
        outbox.post(self.unit, plan.session_key, message)
        self.owes.append(plan.address)

    def call_off(self, job: Job, occurrence: Occurrence, reason: str) -> None:
        """End the run for an occurrence, whatever it is doing."""
        self._drop(occurrence)
        if occurrence.run_id is not None:
            ending = Ending(state=RunState.ABORTED, error=reason)
            run = runs.cancel(self.unit, occurrence.run_id, ending, f"job {job.id}")
            if run is not None:
                self._stopped.append(run)
        self._cancelled(occurrence, reason)

    def drop_waiting(self, job: Job, reason: str) -> None:
        """Cancel the pending messages of a job. An active run finishes, but its result is
        ignored.
        """
        for occurrence in occurrences.open_of(self.unit, job.id):
            if occurrence.run_id is None or occurrence.status == "waiting":
                self._drop(occurrence)
                self._cancelled(occurrence, reason)

    def _drop(self, occurrence: Occurrence) -> None:
        if occurrence.inbound_state == "pending" and occurrence.inbound_id is not None:
            inbox.settle_one(self.unit, occurrence.inbound_id)

    def _cancelled(self, occurrence: Occurrence, reason: str) -> None:
        occurrences.update(
            self.unit,
            occurrence,
            status="cancelled",
            ended_at=self.now,
            retry_at=None,
            error=reason,
        )

    def fired(self, *, next_due: float | None = None, more: bool = False) -> Fired:
        """Add all these effects."""
        return Fired(
            wakes=tuple(dict.fromkeys(self.wakes)),
            owes=tuple(dict.fromkeys(self.owes)),
            stopped=tuple(self._stopped),
            next_due=next_due,
            more=more,
            watched=frozenset(self._watched),
        )
