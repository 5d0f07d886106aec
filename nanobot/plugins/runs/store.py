"""Tool calls of past runs, as their logs have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.store.runs import of_run, of_session
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.runs.views import ToolCallView
from nanobot.session.runs import RunUsage
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, transaction

_r = schema.runs

_MOST_RUNS = 1_000
"""Runs that are searched for tool calls."""
_RUNS_AT_ONCE = 25


class ToolCalls(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    async def listed(self, *, session: str, name: str, limit: int) -> list[ToolCallView]:
        """Tool calls of a session ("": of all) and of a tool ("": of any), the latest first."""
        calls: list[ToolCallView] = []
        before: str | None = ""
        for _ in range(_MOST_RUNS // _RUNS_AT_ONCE):
            if before is None or len(calls) >= limit:
                break
            some, before = await self._some(session, name, before)
            calls += some
        return calls[:limit]

    @transaction()
    def _some(
        self, connection: Connection, session: str, name: str, before: str
    ) -> tuple[list[ToolCallView], str | None]:
        """Calls of a page of runs, the latest first, before a given run ("": from the latest), and
        the last of these runs, None at the end.
        """
        query = sa.select(_r).order_by(_r.c.id.desc()).limit(_RUNS_AT_ONCE)
        if before:
            query = query.where(_r.c.id < before)
        if session:
            rows = of_session(connection, query, session, _RUNS_AT_ONCE)
        else:
            rows = connection.execute(query).all()
        calls: list[ToolCallView] = []
        for row in rows:
            if not _made_none(row):
                calls += reversed([*_calls(row.session_key, of_run(connection, row, _OF_CALLS))])
        further = rows[-1].id if len(rows) == _RUNS_AT_ONCE else None
        return [call for call in calls if name in ("", call.name)], further


def _made_none(row: sa.Row[*tuple[Any, ...]]) -> bool:
    """Whether its usage shows it: a run that was stopped has none."""
    if row.usage is None or row.state == RunState.ABORTED:
        return False
    return not msgspec.json.decode(row.usage, type=RunUsage).tool_calls


_OF_CALLS = ("user", "reply", "tool_result")


def _calls(session_key: str, entries: Iterable[EntryView]) -> Iterator[ToolCallView]:
    """The calls of one run: each result with the arguments from the preceding reply."""
    requested: dict[int, list[dict[str, Any]]] = {}
    message = ""
    for entry in entries:
        body = entry.body
        if body is None:
            continue
        if entry.kind == "user":
            message = body["text"]
            continue
        if entry.kind == "reply":
            requested[body["call"]] = body.get("tool_calls", [])
            continue
        calls = requested.get(body["call"], [])
        index = body["index"]
        yield ToolCallView(
            run_id=entry.run_id,
            session_key=session_key,
            at=entry.at,
            name=body["name"],
            arguments=calls[index]["arguments"] if index < len(calls) else "",
            ok=body.get("ok", True),
            text=body["text"],
            ms=body.get("ms", 0),
            message=message,
        )
