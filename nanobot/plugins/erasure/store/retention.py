"""Retention: old log entries are moved with their chain from the store to files.

A slice is written to its file and synced before it leaves the store. After a crash in between, it
is written again, and entries that are already in the file are skipped. The log records what was
moved where, and its chain holds without the payloads.
"""

from __future__ import annotations

import base64
from typing import Any, NoReturn

import msgspec
import sqlalchemy as sa
from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import StoreError
from nanobot.plugins.common.store.erasures import LOGGED, note
from nanobot.plugins.erasure import tables
from nanobot.plugins.erasure.archives import ArchivedEntry, Archives, file_name
from nanobot.plugins.erasure.store import words
from nanobot.plugins.erasure.store.eraser import AGAIN_SECONDS, SqlEraser
from nanobot.plugins.erasure.store.erasing import empty_copies
from nanobot.session import entries as log_entries
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.results import as_struct
from nanobot.store.journal import log, runs
from nanobot.store.unit import StoreContext, Unit
from nanobot.store.verbs import SqlStore, verb
from nanobot.supervision import Work, side_by_side

ROWS = 100
LOOK_SECONDS = 3_600.0
_NOTED_SECONDS = 300.0
"""Delay between two checks for removals that another process noted."""
_DAY = 86_400.0
_PAUSE = 0.05

_a = tables.archived_logs
_e = schema.entries
_s = schema.sessions
_r = schema.runs


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """The oldest entries of a session: those up to `last` are to be archived, of which `entries`
    still have their payload.
    """

    session_key: str
    last: int
    entries: tuple[ArchivedEntry, ...]


def due(connection: Connection, cutoff: float, after: str) -> tuple[list[str], str | None]:
    """Of some sessions, those with entries to archive, and where to continue; None: that
    was all.
    """
    keys = list(
        connection.scalars(
            sa.select(_s.c.key).where(_s.c.key > after).order_by(_s.c.key).limit(ROWS)
        )
    )
    if not keys:
        return [], None
    last = sa.func.coalesce(_a.c.last, 0)
    oldest = sa.and_(_e.c.session_key == _s.c.key, _e.c.seq == last + 1)
    query = sa.select(_s.c.key).outerjoin(_a, _a.c.session_key == _s.c.key).join(_e, oldest)
    there = query.where(_s.c.key.in_(keys), _e.c.at < cutoff)
    return sorted(connection.scalars(there)), keys[-1]


def oldest(connection: Connection, key: str, cutoff: float) -> Slice | None:
    """None: there is nothing to archive, or a run is active in the session."""
    if _runs(connection, key):
        return None
    begin = connection.scalar(sa.select(_a.c.last).where(_a.c.session_key == key)) or 0
    query = sa.select(_e).where(_e.c.session_key == key, _e.c.seq > begin)
    rows = []
    for row in connection.execute(query.order_by(_e.c.seq).limit(ROWS)).all():
        if row.at >= cutoff:
            break
        rows.append(row)
    if not rows:
        return None
    whole = [row for row in rows if row.payload is not None and row.kind != "erased"]
    return Slice(session_key=key, last=rows[-1].seq, entries=tuple(map(_line, whole)))


def archived(unit: Unit, part: Slice, name: str) -> bool:
    """These entries are in their file: remove their payloads and all copies of them. The model sees
    the log from the next message after them. Returns False if a run has become active in the
    session.
    """
    key = part.session_key
    lane = log.lane_of(unit, key)
    if _runs(unit, key):
        return False
    for entry in part.entries:
        body = log_entries.decode(base64.b64decode(entry.payload))
        empty_copies(unit, key, entry.run_id, body)
    numbers = [entry.seq for entry in part.entries]
    if numbers:
        erased = sa.and_(_e.c.session_key == key, _e.c.seq.in_(numbers))
        unit.execute(sa.update(_e).where(erased).values(payload=None, salt=None))
        words.remove(unit, key, numbers)
        marker = log_entries.ErasedEntry(
            seq=numbers[0], last=numbers[-1], by="retention", archive=name
        )
        log.append(unit, lane, "", [marker])
        note(unit, LOGGED, f"{key} {numbers[0]}")
    insert_ignore(unit, _a, {"session_key": key, "last": 0})
    unit.execute(sa.update(_a).where(_a.c.session_key == key).values(last=part.last))
    _move_window(unit, key, part.last)
    return True


def _runs(connection: Connection, key: str) -> bool:
    live = sa.select(_r.c.id).where(_r.c.session_key == key, schema.RUN_LIVE).limit(1)
    return connection.execute(live).first() is not None


def _move_window(connection: Connection, key: str, last: int) -> None:
    row = connection.execute(
        sa.select(_s.c.window_from, _s.c.head_seq).where(_s.c.key == key)
    ).one()
    if row.window_from > last:
        return
    user = sa.select(sa.func.min(_e.c.seq)).where(_e.c.session_key == key, _e.c.seq > last)
    following = connection.scalar(user.where(_e.c.kind == "user"))
    runs.move_window(connection, key, following or row.head_seq + 1)


class Retention(SqlStore):
    """Archives entries that are older than this many days (0: none)."""

    _due = verb(due)
    _oldest = verb(oldest)
    _archived = verb(archived, "archive")

    def __init__(
        self,
        database: Database,
        writer: StoreContext,
        eraser: SqlEraser,
        days: float,
        archives: Archives,
    ) -> None:
        super().__init__(database, writer)
        self._eraser = eraser
        self._days = days
        self._archives = archives
        self._offset = writer.clock.now() - writer.clock.monotonic()

    async def run(self) -> None:
        """Until cancelled: archive, and erase noted entries from archives."""
        works: dict[str, Work] = {
            "retention: old entries": self._archiving,
            "retention: erasures in archives": self._erasing,
        }
        await side_by_side(works, self.writer.clock)

    async def _archiving(self) -> None:
        while self._days:
            with boundary("archiving"):
                count = await self.archive()
                if count:
                    logger.info("{} old entries are in {} now", count, self._archives.folder)
            await self.writer.clock.sleep(LOOK_SECONDS)

    async def _erasing(self) -> NoReturn:
        # Another process, whose home has no archives, may have noted it.
        while True:
            try:
                await self._eraser.erase_archived(self._archives)
            except StoreError as error:
                logger.warning("archives are erased from in {:g} s: {}", AGAIN_SECONDS, error)
                await self.writer.clock.sleep(AGAIN_SECONDS)
            else:
                await self.writer.clock.sleep(_NOTED_SECONDS)

    async def archive(self) -> int:
        """Archive everything due; returns the number of entries. Raises StoreError."""
        clock = self.writer.clock
        # A clock that is set forward meanwhile makes nothing old: what is archived stays so.
        now = min(clock.now(), clock.monotonic() + self._offset)
        cutoff, count = now - self._days * _DAY, 0
        after: str | None = ""
        while after is not None:
            keys, after = await self._due(cutoff, after)
            for key in keys:
                with boundary(f"archiving {key}"):
                    count += await self._archive(key, cutoff)
        if count:
            self._eraser.soon()
        return count

    async def _archive(self, key: str, cutoff: float) -> int:
        count, name = 0, file_name(key)
        while (part := await self._oldest(key, cutoff)) is not None:
            if part.entries:
                await self._archives.append(key, part.entries)
            if not await self._archived(part, name):
                break
            count += len(part.entries)
            await self.writer.clock.sleep(_PAUSE)
        return count


def _line(row: Any) -> ArchivedEntry:
    def text(data: bytes | None) -> str:
        return base64.b64encode(data or b"").decode()

    return as_struct(
        row,
        ArchivedEntry,
        salt=text(row.salt),
        payload=text(row.payload),
        digest=text(row.digest),
        hash=text(row.hash),
    )
