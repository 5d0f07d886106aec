"""Forks over SQL: their source, and the copy of its entries, some in each transaction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.errors import RowUnreadable, UsageError
from nanobot.labels import Privacy
from nanobot.messages import TERMINAL, Address, Origin, RunOptions
from nanobot.plugins.fork.plan import (
    BEGIN,
    CannotFork,
    ForkPlan,
    ForkRequest,
    Source,
    copied,
)
from nanobot.plugins.fork.store.reading import (
    body_of,
    covered,
    end_of,
    entries_of,
    erased,
    shared,
    source_of,
)
from nanobot.session.entries import (
    Body,
    Entry,
    ForkEntry,
    SummaryEntry,
    UserEntry,
    decode,
)
from nanobot.session.keys import FORKS
from nanobot.session.labelling import label_of
from nanobot.session.runs import Lane, Run
from nanobot.session.states import RunKind, RunState
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone, insert_ignore
from nanobot.store.journal import log, runs
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_e, _r, _s = schema.entries, schema.runs, schema.sessions
_f = sa.table(
    "fork_runs",
    *(sa.column(name) for name in ("run_id", "asked", "plan", "following", "first", "done")),
)
ROWS = 200
"""The entries copied in one transaction."""
MOST_LIVE = 8
"""The forks of one conversation that may work at the same time."""
_RESULTS = 1_000


class SqlForks(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    @transaction()
    def source(self, connection: Connection, run_id: str, request: ForkRequest) -> Source:
        """The source of a fork. Raises UsageError and CannotFork, which names the entry."""
        return source_of(connection, run_id, request)

    @transaction("fork_created")
    def create(self, unit: Unit, plan: ForkPlan) -> str:
        """Create the fork's session with its first entry, once for each order. Returns the id of
        the fork's run. Raises UsageError.
        """
        alone(unit, "fork a run")
        request, source = plan.request, plan.source
        if request.asked:
            query = sa.select(_f.c.run_id).where(_f.c.asked == request.asked)
            if (known := unit.scalar(query)) is not None:
                return str(known)
        _room(unit, source.run)
        run_id = unit.writer.ids.run_id()
        key = FORKS.of(run_id)
        log.ensure_session(unit, key, f"Fork: {source.title}")
        entry = ForkEntry(
            session=source.run.session_key,
            run=source.run.id,
            entry=source.at,
            head=source.head,
            by=request.by,
            otherwise=str(request.otherwise),
            results=request.results,
        )
        log.append(unit, Lane(key, 0), run_id, [entry])
        row = {
            "run_id": run_id,
            "asked": request.asked or None,
            "plan": msgspec.json.encode(plan).decode(),
            "following": source.start,
            "first": 0,
            "done": 0,
        }
        unit.execute(sa.insert(_f), row)
        return run_id

    @transaction()
    def unfinished(self, connection: Connection) -> list[str]:
        """The forks whose entries are not all copied."""
        query = sa.select(_f.c.run_id).where(_f.c.done == sa.literal_column("0"))
        return list(connection.scalars(query.order_by(_f.c.run_id)))

    @transaction("fork_copied")
    def copy(self, unit: Unit, run_id: str) -> bool:
        """Copy the next entries; after the last, create the run. True: the fork is complete. Raises
        CannotFork, which names the entry.
        """
        key = FORKS.of(run_id)
        if log.HEAD.execute(unit, k=key).first() is None:  # locked; or it was removed
            unit.execute(sa.delete(_f).where(_f.c.run_id == run_id))
            return True
        row = unit.execute(sa.select(_f).where(_f.c.run_id == run_id)).first()
        if row is None or row.done:
            return True
        plan = msgspec.json.decode(row.plan, type=ForkPlan)
        source = plan.source
        some = shared(source.run, row.following, source.at, own=plan.only_own).limit(ROWS)
        rows = unit.execute(some).all()
        first = int(row.first)
        for group in _by_run(rows):
            first = self._append(unit, plan, run_id, group, first)
        values: dict[str, Any] = {"first": first}
        if rows:
            values["following"] = int(rows[-1].seq) + 1
        if len(rows) < ROWS:
            self._begin(unit, plan, run_id, first)
            values["done"] = 1
        unit.execute(sa.update(_f).where(_f.c.run_id == run_id).values(**values))
        return len(rows) < ROWS

    @transaction("fork_abandoned")
    def abandon(self, connection: Connection, run_id: str) -> None:
        """Remove a fork that cannot be completed and has no run yet."""
        key = FORKS.of(run_id)
        if runs.is_known(connection, run_id):
            return
        for table in (_e, schema.prompt_uses):
            connection.execute(sa.delete(table).where(table.c.session_key == key))
        connection.execute(sa.delete(_s).where(_s.c.key == key))
        connection.execute(sa.delete(_f).where(_f.c.run_id == run_id))

    @transaction()
    def origin(self, connection: Connection, session_key: str) -> ForkEntry | None:
        """Where a fork comes from; None if the session is gone or its first entry was erased."""
        query = sa.select(_e.c.payload).where(_e.c.session_key == session_key, _e.c.seq == 1)
        payload = connection.scalar(query)
        with suppress(RowUnreadable):
            body = None if payload is None else decode(payload)
            return body if isinstance(body, ForkEntry) else None
        return None

    @transaction()
    def address(self, connection: Connection, run_id: str) -> Address | None:
        """The chat of a run; None if the run is gone."""
        row = connection.execute(sa.select(_r).where(_r.c.id == run_id)).first()
        return None if row is None else runs.as_run(row).address

    @transaction()
    def calls(self, connection: Connection, run_id: str, after: int) -> tuple[Entry, ...]:
        """Some replies and results of a run, after an entry; none at the end."""
        row = connection.execute(sa.select(_r).where(_r.c.id == run_id)).first()
        if row is None:
            return ()
        run = runs.as_run(row)
        query = sa.select(_e.c.seq, _e.c.at, _e.c.payload).where(
            _e.c.session_key == run.session_key,
            _e.c.seq >= max(run.first_seq, after + 1),
            _e.c.seq < end_of(connection, run),
            _e.c.run_id == run.id,
            _e.c.kind.in_(("reply", "tool_result")),
        )
        found: list[Entry] = []
        for seq, at, payload in connection.execute(query.order_by(_e.c.seq).limit(_RESULTS)):
            body: Body | None = None
            with suppress(RowUnreadable):
                body = None if payload is None else decode(payload)
            found.append(Entry(seq, run.id, at, body))
        return tuple(found)

    def _append(
        self,
        unit: Unit,
        plan: ForkPlan,
        run_id: str,
        rows: Sequence[Any],
        first: int,
    ) -> int:
        """Append entries of one run. Returns the first entry of the fork's run (0: none)."""
        source, key = plan.source, FORKS.of(run_id)
        own = rows[0].run_id == source.run.id
        bodies: list[Body] = []
        for row in rows:
            if row.payload is None:
                raise CannotFork(erased(source.run, row.seq))
            body = body_of(source.run, row.seq, row.payload)
            upto = covered(unit, plan, body.upto) if isinstance(body, SummaryEntry) else 0
            is_first = own and not first and not bodies
            bodies.append(copied(body, plan, own=own, upto=upto, first=is_first))
        lane = log.lane_of(unit, key)
        name = run_id if own else rows[0].run_id
        entries = log.append(unit, lane, name, bodies)
        return first or (entries[0].seq if own else 0)

    def _begin(self, unit: Unit, plan: ForkPlan, run_id: str, first: int) -> None:
        """Create the run, queued, with the message to say if there is one."""
        source, key, now = plan.source, FORKS.of(run_id), unit.now
        parent = source.run
        if plan.request.say:
            said = _said(unit, plan, now, options=None if first else plan.options)
            lane = log.lane_of(unit, key)
            (entry,) = log.append(unit, lane, run_id, [said])
            first = first or entry.seq
        prompt = source.prompt if source.has_prompt else None
        values = {"prompt": prompt, "prompt_variant": prompt and source.variant}
        unit.execute(sa.update(_s).where(_s.c.key == key).values(window_from=BEGIN, **values))
        if prompt:
            insert_ignore(unit, schema.prompt_uses, {"session_key": key, "digest": prompt})
        run = Run(
            id=run_id,
            session_key=key,
            kind=RunKind.TASK,
            state=RunState.QUEUED,
            origin=Origin.RUN,
            address=Address(TERMINAL, key),
            sender_id=plan.sender,
            role=plan.role,
            reply_to=None,
            first_seq=first,
            attempts=0,
            created_at=now,
            parent_session=parent.session_key,
        )
        runs.insert(unit, run, parent.id)


def _room(connection: Connection, run: Run) -> None:
    """Raises UsageError if too many forks of the conversation work already."""
    live = sa.select(sa.func.count()).where(
        _r.c.parent_session == run.session_key,
        schema.RUN_LIVE,
        _r.c.session_key.startswith(FORKS.of("")),
    )
    if (connection.scalar(live) or 0) >= MOST_LIVE:
        raise UsageError(
            f"{MOST_LIVE} forks of {run.session_key} work already: wait for one, or cancel one"
        )


def _by_run(rows: Sequence[Any]) -> list[list[Any]]:
    """Consecutive entries of the same run."""
    groups: list[list[Any]] = []
    for row in rows:
        if not groups or groups[-1][0].run_id != row.run_id:
            groups.append([])
        groups[-1].append(row)
    return groups


def _said(
    connection: Connection, plan: ForkPlan, now: float, options: RunOptions | None
) -> UserEntry:
    """What the person says in the fork, as the sender of the run's message, but with no more
    rights than their own."""
    run = plan.source.run
    first = next(entries_of(connection, run, run.first_seq + 1), None)
    asked = None if first is None else first.body
    if not isinstance(asked, UserEntry):
        raise CannotFork(erased(run, run.first_seq))
    said = msgspec.structs.replace(asked, role=plan.role, label="", tainted=False)
    label = label_of(asked).join(label_of(said))
    if labels.is_marked_secret(plan.request.say):
        label = label.join(labels.of(privacy=Privacy.SECRET))
    return UserEntry(
        text=plan.request.say,
        address=asked.address,
        sender_id=plan.sender,
        sender_name=asked.sender_name if plan.role is run.role else "",
        role=plan.role,
        sent_at=now,
        zone=asked.zone,
        inbound_id=0,
        origin=asked.origin,
        group=asked.group,
        tainted=label.tainted,
        label=label.encoded(),
        options=options,
    )
