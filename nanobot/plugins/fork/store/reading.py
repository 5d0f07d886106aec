"""Reads what a fork shares with its parent's run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from nanobot import errors
from nanobot.errors import RowUnreadable, UsageError
from nanobot.messages import RunOptions
from nanobot.plugins.fork.plan import BEGIN, LEFT_OUT, CannotFork, ForkPlan, ForkRequest, Source
from nanobot.session.chain import GENESIS
from nanobot.session.entries import (
    Body,
    Entry,
    ModelCallEntry,
    PromptEntry,
    UserEntry,
    decode,
    kinds,
)
from nanobot.session.runs import Run
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import one_snapshot
from nanobot.store.journal import runs

_e, _r, _s = schema.entries, schema.runs, schema.sessions
_MESSAGES = 50


def source_of(connection: Connection, run_id: str, request: ForkRequest) -> Source:
    """The source of a fork. Raises UsageError and CannotFork, which names the entry."""
    one_snapshot(connection)
    row = connection.execute(sa.select(_r).where(_r.c.id == run_id)).first()
    if row is None:
        raise errors.UnknownId(f"There is no run {run_id}.")
    run = runs.as_run(row)
    last = _last(connection, run)
    call_seq, call = _model_call(connection, run, last, request.at)
    at = _cut(connection, run, last, call_seq - 1 if request.at is None else request.at)
    session = connection.execute(sa.select(_s.c.title).where(_s.c.key == run.session_key)).one()
    options = _options(connection, run)
    begin = run.first_seq if options.history is not None else call.window_from
    start = min(max(begin, 1), at + 1)
    own = options.history is not None
    _check_payloads(connection, run, start, at, own=own)
    known = sa.select(schema.prompts.c.digest).where(schema.prompts.c.digest == call.prompt)
    return Source(
        run=run,
        title=session.title,
        start=start,
        at=at,
        head=_hash(connection, run.session_key, at),
        last=last,
        options=options,
        model=call.profile.label,
        prompt=call.prompt,
        variant=_variant(connection, run.session_key, call_seq, call.prompt),
        has_prompt=connection.scalar(known) is not None,
    )


def end_of(connection: Connection, run: Run) -> int:
    """The first entry after a run: a session has one active run at a time."""
    following = sa.select(sa.func.min(_r.c.first_seq)).where(
        _r.c.session_key == run.session_key, _r.c.first_seq > run.first_seq
    )
    return connection.scalar(following) or 2**62


def _last(connection: Connection, run: Run) -> int:
    """The last entry of a run."""
    last = sa.select(sa.func.max(_e.c.seq)).where(
        _e.c.session_key == run.session_key,
        _e.c.seq >= run.first_seq,
        _e.c.seq < end_of(connection, run),
        _e.c.run_id == run.id,
    )
    return connection.scalar(last) or run.first_seq


def _model_call(
    connection: Connection, run: Run, last: int, at: int | None
) -> tuple[int, ModelCallEntry]:
    """The last model call before the cut, or else the first after it."""
    query = sa.select(_e.c.seq, _e.c.payload).where(
        _e.c.session_key == run.session_key,
        _e.c.seq >= run.first_seq,
        _e.c.seq <= last,
        _e.c.run_id == run.id,
        _e.c.kind == "model_call",
    )
    row = None
    if at is not None:
        before = query.where(_e.c.seq <= at).order_by(_e.c.seq.desc())
        row = connection.execute(before.limit(1)).first()
    if row is None:
        row = connection.execute(query.order_by(_e.c.seq).limit(1)).first()
    if row is None:
        raise UsageError(f"Run {run.id} asked no model: there is nothing to fork.")
    if row.payload is None:
        raise CannotFork(erased(run, row.seq))
    body = body_of(run, row.seq, row.payload)
    if not isinstance(body, ModelCallEntry):
        raise errors.StoreCorrupt(f"entry {row.seq} of {run.session_key} is no model call")
    return int(row.seq), body


def _cut(connection: Connection, run: Run, last: int, at: int) -> int:
    """The last shared entry. A model call without its reply is left out: it is made again."""
    if not run.first_seq - 1 <= at <= last:
        raise UsageError(
            f"at: entry {at} is not one of run {run.id}, which has the entries "
            f"{run.first_seq} to {last} of {run.session_key}"
        )
    query = sa.select(_e.c.kind, _e.c.run_id)
    row = connection.execute(
        query.where(_e.c.session_key == run.session_key, _e.c.seq == at)
    ).first()
    is_call = row is not None and (row.kind, row.run_id) == ("model_call", run.id)
    return at - 1 if is_call else at


def shared(run: Run, start: int, at: int, *, own: bool) -> sa.Select[Any]:
    """The entries that a fork shares, in order."""
    query = sa.select(_e.c.seq, _e.c.run_id, _e.c.kind, _e.c.payload).where(
        *_sharing(run, start, at, own=own)
    )
    return query.order_by(_e.c.seq)


def _sharing(run: Run, start: int, at: int, *, own: bool) -> list[sa.ColumnElement[bool]]:
    return [
        _e.c.session_key == run.session_key,
        _e.c.seq >= start,
        _e.c.seq <= at,
        _e.c.kind.not_in(LEFT_OUT),
        ~sa.and_(_e.c.kind == "fallback", _e.c.run_id == run.id),
        _e.c.run_id == run.id if own else sa.true(),
    ]


def _check_payloads(connection: Connection, run: Run, start: int, at: int, *, own: bool) -> None:
    """Raises CannotFork, which names the first entry that cannot be shared."""
    bad = sa.or_(_e.c.payload.is_(None), _e.c.kind.not_in(kinds()))
    query = sa.select(_e.c.seq, _e.c.kind, _e.c.payload.is_(None).label("erased"))
    query = query.where(*_sharing(run, start, at, own=own), bad).order_by(_e.c.seq).limit(1)
    row = connection.execute(query).first()
    if row is None:
        return
    if row.erased:
        raise CannotFork(erased(run, row.seq))
    raise CannotFork(_unreadable(run, row.seq, f"a {row.kind}"))


def _unreadable(run: Run, seq: int, kind: str) -> str:
    return (
        f"Entry {seq} of {run.session_key} is {kind} that this version cannot read; "
        "fork with the version of nanobot that wrote it."
    )


def body_of(run: Run, seq: int, payload: bytes) -> Body:
    """The body of an entry. Raises CannotFork: an entry of a newer version stays as it is, and
    RowUnreadable would move it to the quarantine.
    """
    try:
        return decode(payload)
    except RowUnreadable:
        raise CannotFork(_unreadable(run, seq, "an entry")) from None


def entries_of(connection: Connection, run: Run, end: int) -> Iterator[Entry]:
    """The run's readable entries before `end`."""
    query = sa.select(_e.c.seq, _e.c.at, _e.c.payload).where(
        _e.c.session_key == run.session_key,
        _e.c.seq >= run.first_seq,
        _e.c.seq < end,
        _e.c.run_id == run.id,
        _e.c.payload.is_not(None),
    )
    for seq, at, payload in connection.execute(query.order_by(_e.c.seq)).all():
        with suppress(CannotFork):
            yield Entry(seq, run.id, at, body_of(run, seq, payload))


def erased(run: Run, seq: int) -> str:
    """Why a fork cannot share an erased entry, and what to do."""
    return (
        f"Entry {seq} of {run.session_key}, which the fork would see, was erased: "
        f"fork before it (--at {max(seq - 1, 1)}), or another run."
    )


def _hash(connection: Connection, key: str, seq: int) -> str:
    query = sa.select(_e.c.hash).where(_e.c.session_key == key, _e.c.seq == seq)
    found = connection.scalar(query)
    return bytes(GENESIS if found is None else found).hex()


def _options(connection: Connection, run: Run) -> RunOptions:
    """The options of a run, from its first messages."""
    for entry in entries_of(connection, run, run.first_seq + _MESSAGES):
        if isinstance(entry.body, UserEntry) and entry.body.options is not None:
            return entry.body.options
    return RunOptions()


def _variant(connection: Connection, key: str, before: int, digest: str) -> str | None:
    """The kind of prompt that a snapshot was made as."""
    query = sa.select(_e.c.seq, _e.c.payload).where(
        _e.c.session_key == key, _e.c.seq < before, _e.c.kind == "prompt"
    )
    row = connection.execute(query.order_by(_e.c.seq.desc()).limit(1)).first()
    if row is None or row.payload is None:
        return None
    with suppress(RowUnreadable):
        body = decode(row.payload)
        if isinstance(body, PromptEntry) and body.digest == digest:
            return body.prompt_variant
    return None


def covered(connection: Connection, plan: ForkPlan, upto: int) -> int:
    """The entry of the fork up to which a summary covers it."""
    source = plan.source
    if upto < source.start:
        return BEGIN - 1 if upto == source.start - 1 else 0
    among = _sharing(source.run, source.start, upto, own=plan.only_own)
    count = sa.select(sa.func.count()).select_from(_e).where(*among)
    return BEGIN - 1 + (connection.scalar(count) or 0)
