"""Background runs over SQL: created with a session of their own, counted, and started once per
key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import Fenced, ToolError
from nanobot.messages import TERMINAL, Address, Origin, Role
from nanobot.plugins.common.runs.background_runs import NewTask, Parent, TaskRequest
from nanobot.plugins.common.store import task_tables
from nanobot.plugins.tasks.port import MAX_DEPTH, MAX_IN_ALL, MAX_OF_SESSION
from nanobot.session.entries import Body, UserEntry
from nanobot.session.keys import TASKS
from nanobot.session.runs import Run
from nanobot.session.states import LIVE, RunKind, RunState
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database
from nanobot.store.database.dialect import alone
from nanobot.store.journal import log, runs
from nanobot.store.unit import StoreContext, Unit
from nanobot.store.verbs import SqlStore, transaction

_r = schema.runs
_t = task_tables.tasks

_OWNER = "local"


class SqlTasks(SqlStore):
    """See session.tasks.TaskRecords: the same code for SQLite and PostgreSQL."""

    def __init__(self, database: Database, writer: StoreContext, zone: str = "UTC") -> None:
        super().__init__(database, writer)
        self._zone = zone

    @transaction("task_created")
    def create(self, unit: Unit, task: NewTask) -> str:
        alone(unit, "start a task")
        existing = _run_of_key(unit, task)
        if existing is not None:
            return existing
        _room(unit, task.request.parent)
        run_id = unit.writer.ids.run_id()
        self._insert(unit, task, run_id)
        return run_id

    def creation(self, task: NewTask) -> tuple[str, Callable[[Any], None]]:
        run_id = self.writer.ids.run_id()
        return run_id, lambda connection: self._insert(connection, task, run_id)

    @transaction()
    def room(self, connection: Connection, parent: Parent | None) -> None:
        _room(connection, parent)

    def _insert(self, unit: Unit, task: NewTask, run_id: str) -> None:
        if _run_of_key(unit, task) is not None:
            return
        request, now = task.request, unit.now
        key, parent = TASKS.of(run_id), request.parent
        _still_lives(unit, parent)
        address = Address(TERMINAL, key) if parent is None else parent.address
        sender = _OWNER if parent is None else parent.sender_id
        role = Role.OWNER if parent is None else parent.role
        tainted = parent is not None and parent.tainted
        log.ensure_session(unit, key, request.title)
        entry = UserEntry(
            text=task.text,
            address=address,
            sender_id=sender,
            role=role,
            sent_at=now,
            zone=self._zone,
            inbound_id=0,
            origin=Origin.RUN,
            tainted=tainted,
            label="" if parent is None else parent.label,
            options=msgspec.structs.replace(task.options, run_id=run_id),
            kept=task.kept,
        )
        lane = log.lane_of(unit, key)
        (first,) = log.append(unit, lane, run_id, [entry])
        run = Run(
            id=run_id,
            session_key=key,
            kind=RunKind.TASK,
            state=RunState.QUEUED,
            origin=Origin.RUN,
            address=address,
            sender_id=sender,
            role=role,
            reply_to=None,
            first_seq=first.seq,
            attempts=0,
            created_at=now,
            parent_session=None if parent is None else parent.session_key,
        )
        runs.insert(unit, run, None if parent is None else parent.run_id or None)
        row = {
            "run_id": run_id,
            "key": request.key,
            "type": request.type,
            "title": request.title,
            "input": msgspec.json.encode(request.input),
            "report": task.report,
            "depth": _depth(unit, parent) + 1,
            "tainted": tainted,
            "not_before": now + task.delay if task.delay else 0.0,
            "deadline": None if task.seconds is None else now + task.delay + task.seconds,
        }
        unit.execute(sa.insert(_t), row)

    @transaction()
    def again(self, connection: Connection, run_id: str) -> TaskRequest | None:
        query = sa.select(_r, _t.c.type, _t.c.title, _t.c.input, _t.c.report, _t.c.tainted)
        query = query.join(_t, _t.c.run_id == _r.c.id).where(_r.c.id == run_id)
        row = connection.execute(query).first()
        if row is None:
            return None
        entries = log.read(connection, row.session_key, row.first_seq, row.first_seq + 1)
        first = next(iter(entries), None)
        return _request(row, None if first is None else first.body)

    @transaction()
    def overdue(self, unit: Unit) -> tuple[list[str], float | None]:
        """The live runs past their deadline, and the time of the next deadline."""
        due = sa.select(_r.c.id, _t.c.deadline).join(_t, _t.c.run_id == _r.c.id)
        due = due.where(schema.RUN_LIVE, _t.c.deadline.is_not(None)).order_by(_t.c.deadline)
        rows = unit.execute(due).all()
        now = unit.now
        coming = [row.deadline for row in rows if row.deadline > now]
        return [row.id for row in rows if row.deadline <= now], min(coming, default=None)


def _still_lives(connection: Connection, parent: Parent | None) -> None:
    """Raises Fenced if the run that starts another has been ended: stopping a run with everything
    it started would miss this one.
    """
    if parent is None or not parent.run_id or parent.again:
        return
    state = connection.scalar(
        sa.select(_r.c.state).where(_r.c.id == parent.run_id).with_for_update()
    )
    if state is not None and state not in LIVE:
        raise Fenced(f"run {parent.run_id} has ended: it starts nothing more")


def _run_of_key(connection: Connection, task: NewTask) -> str | None:
    run_id: str | None = connection.scalar(
        sa.select(_t.c.run_id).where(_t.c.key == task.request.key)
    )
    return run_id


def _room(connection: Connection, parent: Parent | None) -> None:
    live = sa.select(sa.func.count()).select_from(_r.join(_t, _t.c.run_id == _r.c.id))
    live = live.where(schema.RUN_LIVE)
    if (connection.scalar(live) or 0) >= MAX_IN_ALL:
        raise ToolError(
            f"{MAX_IN_ALL} background runs wait or work already: cancel some, or wait for them"
        )
    if parent is None:
        return
    if _depth(connection, parent) >= MAX_DEPTH:
        raise ToolError(
            f"this is a background run of a background run ({MAX_DEPTH} deep is the limit): "
            "do it yourself"
        )
    of_session = connection.scalar(live.where(_r.c.parent_session == parent.session_key)) or 0
    if of_session >= MAX_OF_SESSION:
        raise ToolError(
            f"{of_session} background runs of this conversation wait or work already "
            f"(at most {MAX_OF_SESSION}): wait for one, or have one cancelled"
        )


def _depth(connection: Connection, parent: Parent | None) -> int:
    """The number of generations of background runs above a new one."""
    if parent is None:
        return 0
    return connection.scalar(sa.select(_t.c.depth).where(_t.c.run_id == parent.run_id)) or 0


def _request(row: sa.Row[Any], first: Body | None) -> TaskRequest:
    options = first.options if isinstance(first, UserEntry) else None
    parent = None
    if row.parent_session is not None:
        parent = Parent(
            session_key=row.parent_session,
            run_id=row.parent or "",
            address=Address(row.channel, row.chat_id, row.thread_id),
            sender_id=row.sender_id,
            role=Role(row.role),
            tainted=row.tainted,
            label=first.label if isinstance(first, UserEntry) else "",
            private=options is not None and options.private,
            again=True,
        )
    return TaskRequest(
        type=row.type,
        title=row.title,
        input=msgspec.json.decode(row.input),
        key="",
        parent=parent,
        report=row.report,
    )
