"""Following a session, or all: a replay of missed events or a snapshot, then new events."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import msgspec

from nanobot.messages import RunEvent
from nanobot.operations.engine import Engine
from nanobot.plugins.common.approvals import ApprovalRecords
from nanobot.plugins.common.runs.current_runs import CurrentRuns
from nanobot.plugins.common.store.runs import StoredRuns
from nanobot.plugins.common.store.session_lists import SessionLists
from nanobot.plugins.common.store.session_log import SqlSessionLog
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.common.views.remarks import Remark, remarks_of
from nanobot.plugins.common.views.views import RunView, SessionView
from nanobot.plugins.http_api.streams import Item, Stream, Streams, Whose, is_within
from nanobot.seam.offers import Contributions
from nanobot.session.approvals import Approval
from nanobot.session.entries import ReplyEntry
from nanobot.store.opening import Store

_ENTRIES = 30
_SESSIONS = 50
_MOST_WAITING = 1_000
_TRIES = 5
_ALIVE_SECONDS = 15.0


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a session: the end of its log, the current step of its run (`events`), the
    unfinished text of the model, and the pending approvals. `remarks`: of plugins, on the answers
    among the entries."""

    session: SessionView | None
    entries: tuple[EntryView, ...]
    events: tuple[RunEvent, ...]
    partial: ReplyEntry | None
    approvals: tuple[Approval, ...]
    remarks: tuple[Remark, ...] = ()


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The state of everything: the sessions that changed last, the active runs, and the pending
    approvals."""

    sessions: tuple[SessionView, ...]
    runs: tuple[RunView, ...]
    approvals: tuple[Approval, ...]


class Watching:
    """Follows sessions of one gateway."""

    def __init__(
        self,
        engine: Engine,
        current: CurrentRuns,
        store: Store,
        approvals: ApprovalRecords,
        contributions: Contributions,
    ) -> None:
        self.streams = Streams(engine.bus, engine.running)
        self._engine = engine
        self._current = current
        self._approvals = approvals
        self._remarks = remarks_of(contributions)
        self._log = SqlSessionLog(store.database, store.writer)
        self._runs = StoredRuns(store.database, store.writer)
        self._lists = SessionLists(store.database, store.writer)

    def close(self) -> None:
        self.streams.close()

    async def follow(
        self, session_key: str | None, after: str = "", whose: Whose = None
    ) -> AsyncGenerator[list[Item], None]:
        """Past events of a session (None: of all, or of those of `whose`) after the item with that
        id, then new ones, each once. If those are no longer known, or no id is given, it begins
        with a snapshot. A reader that is too slow gets a new snapshot instead of the missed events.
        An empty list is sent after 15 s without events.
        """
        stream = self.streams.open(session_key, whose)
        try:
            position = stream.position(after)
            while not stream.closed:
                if position is None or not stream.knows(position):
                    snapshot, position = await self._snapshot(stream)
                    yield [snapshot]
                items = stream.since(position)
                position = stream.head
                if not items:
                    await stream.news(_ALIVE_SECONDS)
                if items or position == stream.head:
                    yield items
        finally:
            self.streams.leave(stream)

    async def _snapshot(self, stream: Stream) -> tuple[Item, int]:
        """The snapshot, and the number of the last item that it includes."""
        content, head = None, 0
        for _ in range(_TRIES):
            settled, head = stream.settled, stream.head
            content = await self._content(stream.session_key, stream.whose)
            if settled == stream.settled:
                head = stream.head
                break
        if isinstance(content, Snapshot) and stream.session_key is not None:
            # Known without reading the store: as of this very moment.
            content = msgspec.structs.replace(
                content,
                events=tuple(self._current.of(stream.session_key)),
                partial=self._engine.partial(stream.session_key),
            )
        return stream.item("snapshot", stream.session_key, content, head), head

    async def _overview(self, whose: Whose) -> Overview:
        approvals = await self._approvals.approvals(
            session="", state="waiting", limit=_MOST_WAITING
        )
        keys = whose
        for name in whose or ():
            keys = (*(keys or ()), *(await self._lists.keys(name) if name.endswith(":") else ()))
        sessions = await self._lists.newest(limit=_SESSIONS, keys=keys)
        runs = await self._runs.listed(session="", state="live", limit=_SESSIONS, within=whose)
        seen = [row for row in approvals if whose is None or is_within(row.session_key, whose)]
        return Overview(
            sessions=tuple(sessions), runs=tuple(runs), approvals=tuple(seen[:_SESSIONS])
        )

    async def _content(self, key: str | None, whose: Whose) -> Snapshot | Overview:
        if key is None:
            return await self._overview(whose)
        approvals = await self._approvals.approvals(session=key, state="waiting", limit=_SESSIONS)
        session = await self._lists.one(key)
        last = 0 if session is None else session.entries
        entries = await self._log.entries(key, after=max(last - _ENTRIES, 0), limit=_ENTRIES)
        return Snapshot(
            session=session,
            entries=entries,
            events=(),
            partial=None,
            approvals=tuple(approvals),
            remarks=await self._remarks.on_answers(self._runs, entries),
        )
