"""Ratings of answers, as entries of the logs."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from nanobot.errors import UnknownId
from nanobot.plugins.common.runs.ratings import FeedbackView, rating_of
from nanobot.session.entries import FeedbackEntry
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import log
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_e = schema.entries
_r = schema.runs
_MOST = 1_000
"""The most ratings read for one run: no chat has more readers than that."""


class SqlRatings(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    @transaction("judge")
    def judge(self, unit: Unit, run_id: str, entry: FeedbackEntry) -> None:
        """Add a rating to the log of the run's session. Repeating it changes nothing. Raises
        UnknownId."""
        session_key = unit.scalar(sa.select(_r.c.session_key).where(_r.c.id == run_id))
        if session_key is None:
            raise UnknownId(f"there is no run {run_id}")
        lane = log.lane_of(unit, session_key)  # two presses at once: one by one
        last = next((former for former in _of(unit, [run_id]) if former.by == entry.by), None)
        if last is None or (last.verdict, last.text) != (entry.verdict, entry.text):
            log.append(unit, lane, run_id, [entry])

    @transaction()
    def listed(self, connection: Connection, run_id: str, limit: int) -> list[FeedbackView]:
        """The ratings of a run that count ("": of all runs, newest first)."""
        runs = [run_id]
        if not run_id:
            newest = sa.select(_e.c.run_id).where(schema.FEEDBACK).order_by(_e.c.run_id.desc())
            runs = [row.run_id for row in connection.execute(newest.distinct().limit(limit))]
        return _of(connection, runs)[:limit]


def _of(connection: Connection, runs: Sequence[str]) -> list[FeedbackView]:
    """The latest rating of each person on each of the runs, the latest first."""
    query = (
        sa.select(_e.c.session_key, _e.c.run_id, _e.c.seq, _e.c.at, _e.c.payload)
        .where(schema.FEEDBACK, _e.c.run_id.in_(runs))
        .order_by(_e.c.run_id.desc(), _e.c.seq.desc())
        .limit(_MOST * max(len(runs), 1))
    )
    views: dict[tuple[str, str], FeedbackView] = {}
    for row in connection.execute(query).all():
        body = log.body_of(row.session_key, row.seq, row.payload)
        if isinstance(body, FeedbackEntry):
            views.setdefault((row.run_id, body.by), rating_of(row.run_id, row.at, body))
    return list(views.values())
