"""Runs as people see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable
from nanobot.messages import Address
from nanobot.plugins.common.store import task_tables
from nanobot.plugins.common.store.session_views import is_called
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.common.views.views import RunView
from nanobot.session.runs import RunUsage
from nanobot.session.states import RunKind
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.results import as_struct
from nanobot.store.verbs import SqlStore, verb
from nanobot.text import first_sentence

_content = msgspec.json.Decoder(dict[str, Any])
_e = schema.entries
_r = schema.runs
_t = task_tables.tasks

_MOST_ENTRIES = 5_000
"""Entries of one run to read: far more than the run's limits allow it to make."""
_ABOUT = 80
_LOOKED_THROUGH = 10_000
"""A search for words reads this many of the latest runs."""
_LOOKED_AT = 500
_AT_ONCE = 25
"""Runs that one transaction reads with their messages."""


def run_names(  # noqa: PLR0913 - see StoredRuns.listed
    connection: Connection,
    *,
    session: str,
    state: str,
    limit: int,
    kind: str,
    find: str,
    within: Sequence[str] | None,
    before: str,
) -> tuple[list[str], str | None]:
    """The ids of matching runs, the newest first. With words to search for: among a page of runs
    before a given run ("": from the newest), and the last run of that page, None at the end.
    """
    query = sa.select(_r.c.id).order_by(_r.c.id.desc()).limit(limit)
    following: str | None = None
    if find:
        latest = sa.select(_r.c.id).order_by(_r.c.id.desc()).limit(_LOOKED_AT)
        ids = list(connection.scalars(latest.where(_r.c.id < before) if before else latest))
        if not ids:
            return [], None
        following = ids[-1] if len(ids) == _LOOKED_AT else None
        query = query.where(_r.c.id.between(ids[-1], ids[0]), _mentions(find))
    if kind:
        query = query.where(_r.c.kind == kind)
    if state == "live":
        live = query.where(schema.RUN_LIVE).order_by(None)
        query = live.order_by(_r.c.created_at.desc(), _r.c.id.desc())
    elif state in ("failed", "aborted"):
        query = query.where(schema.RUN_UNSUCCESSFUL, _r.c.state == state)
    elif state:
        query = query.where(_r.c.state == state)
    if within is not None:
        there = [is_called(column, within) for column in (_r.c.session_key, _r.c.parent_session)]
        query = query.where(sa.or_(*there))
    if not session:
        return list(connection.scalars(query)), following
    rows = of_session(connection, query, session, limit, children=True)
    return [row.id for row in rows], following


def runs_of(connection: Connection, ids: Sequence[str]) -> list[RunView]:
    """The ones of these runs that exist, in this order."""
    rows = {row.id: row for row in connection.execute(sa.select(_r).where(_r.c.id.in_(ids)))}
    return [_as_run(connection, rows[each]) for each in ids if each in rows]


def _mentions(words: str) -> sa.ColumnElement[bool]:
    """Whether a run has these words in its session's name, its title, or its error."""
    title = _t.c.title.icontains(words, autoescape=True)
    return sa.or_(
        _r.c.session_key.icontains(words, autoescape=True),
        _r.c.error.icontains(words, autoescape=True),
        sa.exists().where(_t.c.run_id == _r.c.id, title),
    )


def of_session(
    connection: Connection,
    query: sa.Select[*tuple[Any, ...]],
    key: str,
    limit: int,
    *,
    children: bool = False,
) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    """Runs of a session (and those it started), the newest first. Each kind uses its own index: a
    single statement would read every run ever stored.
    """
    own = query.where(_r.c.session_key == key)
    each = [own.where(schema.RUN_ENDED), own.where(schema.RUN_LIVE)]
    if children:
        each.append(query.where(schema.RUN_CHILD, _r.c.parent_session == key))
    rows = {row.id: row for statement in each for row in connection.execute(statement)}
    return [rows[run_id] for run_id in sorted(rows, reverse=True)[:limit]]


def one_run(connection: Connection, run_id: str) -> RunView | None:
    """One run."""
    row = connection.execute(sa.select(_r).where(_r.c.id == run_id)).first()
    return None if row is None else _as_run(connection, row)


def _as_run(connection: Connection, row: sa.Row[*tuple[Any, ...]]) -> RunView:
    usage = None if row.usage is None else msgspec.json.decode(row.usage, type=RunUsage)
    messages = [
        entry.body for entry in of_run(connection, row, ("user",)) if entry.body is not None
    ]
    task, about = None, next((body["text"] for body in messages if body["text"].strip()), "")
    if row.kind == RunKind.TASK:
        named = sa.select(_t.c.type, _t.c.title).where(_t.c.run_id == row.id)
        task = connection.execute(named).first()
        about = about if task is None else task.title or about
    return as_struct(
        row,
        RunView,
        inbound_ids=[body["inbound_id"] for body in messages if body["inbound_id"]],
        usage=usage,
        address=str(Address(row.channel, row.chat_id, row.thread_id)),
        type=None if task is None else task.type,
        title=None if task is None else task.title,
        about=first_sentence(about, _ABOUT),
    )


def run_entries(connection: Connection, run_id: str) -> tuple[EntryView, ...]:
    """The entries of one run, in order."""
    row = connection.execute(sa.select(_r).where(_r.c.id == run_id)).first()
    return () if row is None else tuple(of_run(connection, row, ()))


def of_run(
    connection: Connection, row: sa.Row[*tuple[Any, ...]], kinds: tuple[str, ...]
) -> Iterator[EntryView]:
    """The run's entries (of some kinds). A session has one active run at a time, so its entries end
    at the next run's first message, and the log is read only up to there.
    """
    query = (
        sa.select(_e.c.seq, _e.c.run_id, _e.c.at, _e.c.kind, _e.c.payload)
        .where(_e.c.session_key == row.session_key, _e.c.seq >= row.first_seq)
        .order_by(_e.c.seq)
        .limit(_MOST_ENTRIES)
    )
    if kinds:
        query = query.where(_e.c.kind.in_({*kinds, "user"}))
    with connection.execute(query) as rows:
        for entry in rows:
            if entry.run_id == row.id:
                if not kinds or entry.kind in kinds:
                    yield as_entry(row.session_key, entry)
            elif entry.kind == "user":
                return


def as_entry(key: str, row: sa.Row[*tuple[Any, ...]]) -> EntryView:
    """An entry as people see it. Raises RowUnreadable."""
    try:  # the stored form
        body = None if row.payload is None else _content.decode(row.payload)
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        message = f"entry {row.seq} of {key} cannot be read: {error}"
        raise RowUnreadable(message, "entries", (key, row.seq)) from error
    return EntryView(seq=row.seq, run_id=row.run_id, at=row.at, kind=row.kind, body=body)


class StoredRuns(SqlStore):
    """Runs and their entries, read in short transactions."""

    run = verb(one_run)
    entries = verb(run_entries)
    _names = verb(run_names)
    _runs_of = verb(runs_of)

    async def listed(
        self,
        *,
        session: str,
        state: str,
        limit: int,
        kind: str = "",
        find: str = "",
        within: Sequence[str] | None = None,
    ) -> list[RunView]:
        """Runs of a session and the runs it started ("": of all), the newest first, by state ("":
        any, "live": not ended) and kind ("": any). `find`: words in the session's name, the title
        or the error. `within`: only runs of sessions with one of these names, or with a name that
        starts with one of them that ends with a colon, and runs started from those sessions; None:
        all runs."""
        names: list[str] = []
        before = ""
        for _ in range(_LOOKED_THROUGH // _LOOKED_AT):
            some, following = await self._names(
                session=session,
                state=state,
                limit=limit - len(names),
                kind=kind,
                find=find,
                within=within,
                before=before,
            )
            names += some
            if following is None or len(names) >= limit:
                break
            before = following
        found: list[RunView] = []
        for first in range(0, len(names), _AT_ONCE):
            found += await self._runs_of(names[first : first + _AT_ONCE])
        return found
