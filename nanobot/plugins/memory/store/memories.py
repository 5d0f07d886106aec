"""Memories over SQL: rows, and their vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.erasing import Eraser
from nanobot.plugins.common.store import erasures, full_text
from nanobot.plugins.memory import tables
from nanobot.plugins.memory.port import Kind, MemoryHit, MemoryView, SavedMemory, State
from nanobot.plugins.memory.records import Draft, FileChanges, StandingRow, VectorRow
from nanobot.plugins.memory.store.memory_words import WordIndex
from nanobot.session.lasting import Provenance
from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database
from nanobot.store.database.dialect import alone
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import as_struct
from nanobot.store.unit import StoreContext, Unit
from nanobot.store.verbs import SqlStore, transaction

_m = tables.memories
_v = tables.memory_vectors
_VIEW = sa.select(
    *(_m.c.id, _m.c.scope, _m.c.text, _m.c.state, _m.c.kind, _m.c.provenance, _m.c.file),
    *(_m.c.created_at, _m.c.updated_at),
)
_SCOPES = 50
_UNKNOWN = msgspec.json.encode(Provenance())
_FORGOTTEN = "forgotten"
"""The state of a memory that is removed for all readers, but whose line may still be in a file."""

_SCOPE, _ACTIVE = _m.c.scope == sa.bindparam("s"), _m.c.state == "active"
_STANDING = Prepared(
    sa.select(_m.c.id, _m.c.digest, _m.c.file)
    .where(_SCOPE, _ACTIVE, _m.c.id > sa.bindparam("after"), _m.c.file != "")
    .order_by(_m.c.id)
    .limit(sa.bindparam("n"))
)
_GONE = Prepared(sa.select(_m.c.id, _m.c.text).where(_SCOPE, _m.c.state == _FORGOTTEN))
_UNFILED = Prepared(
    sa.select(_m.c.text, _m.c.kind).where(_SCOPE, _ACTIVE, _m.c.file == "").order_by(_m.c.id)
)


class SqlMemoryStore(SqlStore):
    """See memory.records.MemoryStore: the same for SQLite and PostgreSQL."""

    def __init__(
        self, database: Database, writer: StoreContext, eraser: Eraser | None = None
    ) -> None:
        super().__init__(database, writer)
        self._eraser = eraser
        self._words = WordIndex(database)

    @transaction("memory")
    def follow(self, unit: Unit, scope: str, changes: FileChanges) -> None:
        now = unit.now
        alone(unit, f"memory {scope}")
        files = {line.digest: line.file for line in changes.lines} | dict(changes.moved)
        query = sa.select(_m.c.id, _m.c.digest, _m.c.state, _m.c.file, _m.c.provenance)
        query = query.where(_m.c.scope == scope, _m.c.digest.in_([*files, *changes.gone]))
        there = {bytes(row.digest): row for row in unit.execute(query)}
        gone = [
            row.id
            for digest in changes.gone
            if (row := there.get(digest)) is not None and row.state == "active" and row.file
        ]
        _remove(unit, gone)
        for digest, file in files.items():
            row = there.get(digest)
            stands = row is not None and row.state == "active" and row.file == file
            if row is not None and row.state != _FORGOTTEN and not stands:
                placed = _placed(row, file) | {"updated_at": now}
                unit.execute(sa.update(_m).where(_m.c.id == row.id).values(**placed))
        fresh = [
            {
                "scope": scope,
                "digest": line.digest,
                "text": line.text,
                "terms": line.terms,
                "state": "active",
                "kind": line.kind,
                "provenance": _UNKNOWN,
                "file": line.file,
                "created_at": now,
                "updated_at": now,
            }
            for line in changes.lines
            if line.digest not in there
        ]
        if fresh:
            unit.execute(sa.insert(_m), fresh)
        full_text.MEMORIES.tend(unit)

    @transaction()
    def standing(
        self, connection: Connection, scope: str, after: int, limit: int
    ) -> list[StandingRow]:
        rows = _STANDING.execute(connection, s=scope, after=after, n=limit)
        return [StandingRow(identity, bytes(digest), file) for identity, digest, file in rows]

    @transaction("memory")
    def save(self, unit: Unit, draft: Draft) -> SavedMemory:
        return _save(unit, unit.now, draft)

    def saving(self, draft: Draft) -> Callable[[Any], None]:
        return lambda connection: _add(connection, self.writer.clock.now(), draft)

    @transaction("memory_reserved")
    def reserve(self, connection: Connection) -> int:
        blank: dict[str, object] = {"scope": "", "digest": b"", "text": "", "terms": ""}
        blank |= {"state": _FORGOTTEN, "kind": "note", "provenance": b"{}"}
        blank |= {"created_at": 0.0, "updated_at": 0.0}
        alone(connection, "memory")
        identity = connection.execute(sa.insert(_m).returning(_m.c.id), blank).scalar_one()
        connection.execute(sa.delete(_m).where(_m.c.id == identity))
        return int(identity)

    def keeping(self, draft: Draft) -> Callable[[Any], None]:
        """Stores a memory within another transaction, even one that was rejected."""

        def write(connection: Connection) -> None:
            _save(connection, self.writer.clock.now(), draft)

        return write

    def forgetting(self, identity: int) -> Callable[[Any], None]:
        gone = sa.update(_m).where(_m.c.id == identity).values(state=_FORGOTTEN)
        return lambda connection: connection.execute(gone)

    @transaction()
    def forgotten(self, connection: Connection, scope: str) -> list[tuple[int, str]]:
        return [(identity, text) for identity, text in _GONE.execute(connection, s=scope)]

    @transaction()
    def unfiled(self, connection: Connection, scope: str) -> list[tuple[str, Kind]]:
        return [(text, kind) for text, kind in _UNFILED.execute(connection, s=scope)]

    @transaction()
    def by_digest(self, connection: Connection, scope: str, digest: bytes) -> SavedMemory | None:
        return _by_digest(connection, scope, digest)

    @transaction("memory")
    def settle(self, unit: Unit, identity: int, state: State, file: str) -> bool:
        query = sa.select(_m).where(_m.c.id == identity, _m.c.state == "proposed").with_for_update()
        row = unit.execute(query).first()
        if row is None:
            return False
        values: dict[str, object] = {"state": state}
        if state == "active":
            values = _placed(row, file)
        change = sa.update(_m).where(_m.c.id == identity)
        unit.execute(change.values(**values, updated_at=unit.now))
        return True

    async def remove(self, identity: int) -> bool:
        """Remove a memory: immediately from every view, and soon from the files. Without an eraser,
        the files wait until there is one.
        """
        removed = await self._removed(identity)
        if self._eraser is not None:
            self._eraser.soon()
        return removed

    @transaction("memory")
    def _removed(self, connection: Connection, identity: int) -> bool:
        erasures.note(connection, erasures.WORDS, str(identity))
        erasures.note(connection, erasures.LOGGED, f"memory {identity}")
        return _remove(connection, [identity]) == 1

    async def leave_no_trace(self) -> None:
        if self._eraser is not None:
            await self._eraser.finish()

    @transaction()
    def one(self, connection: Connection, identity: int) -> MemoryView | None:
        query = _VIEW.where(_m.c.id == identity, _m.c.state != _FORGOTTEN)
        row = connection.execute(query).first()
        return None if row is None else _view(row)

    @transaction()
    def listed(
        self,
        connection: Connection,
        *,
        scopes: Sequence[str] | None,
        state: str,
        limit: int,
        find: str = "",
    ) -> list[MemoryView]:
        rows: list[sa.Row[*tuple[Any, ...]]] = []
        # Each query reads only the end of an index.
        for each in (state,) if state else get_args(State):
            query = _VIEW.where(_m.c.state == each).order_by(_m.c.id.desc()).limit(limit)
            if find:
                query = query.where(_m.c.text.icontains(find, autoescape=True))
            for scope in [None] if scopes is None else scopes:
                mine = query if scope is None else query.where(_m.c.scope == scope)
                rows += connection.execute(mine)
        rows.sort(key=lambda row: -int(row.id))
        return [_view(row) for row in rows[:limit]]

    async def scopes(self) -> list[str]:
        scopes = await self._some_scopes(None)
        while scopes and (some := await self._some_scopes(scopes[-1])):
            scopes += some
        return scopes

    @transaction()
    def _some_scopes(self, connection: Connection, after: str | None) -> list[str]:
        # Step from one to the next by the index: DISTINCT would read every memory.
        scopes: list[str] = []
        while len(scopes) < _SCOPES:
            query = sa.select(sa.func.min(_m.c.scope))
            after = connection.scalar(query if after is None else query.where(_m.c.scope > after))
            if after is None:
                break
            scopes.append(after)
        return scopes

    async def find(self, scope: str, terms: Sequence[str], limit: int) -> list[int]:
        return await self._words.find(scope, terms, limit)

    @transaction()
    def vectors(
        self, connection: Connection, scope: str, model: str, after: int, limit: int
    ) -> list[VectorRow]:
        query = (
            sa.select(_v.c.seq, _v.c.id, _v.c.vector)
            .where(_v.c.scope == scope, _v.c.seq > after, _v.c.model == model)
            .order_by(_v.c.seq)
            .limit(limit)
        )
        rows = connection.execute(query)
        return [VectorRow(seq, identity, bytes(vector)) for seq, identity, vector in rows]

    async def get(self, scope: str, scores: Sequence[tuple[int, float]]) -> list[MemoryHit]:
        return await self._get(scope, scores) if scores else []

    @transaction()
    def _get(
        self, connection: Connection, scope: str, scores: Sequence[tuple[int, float]]
    ) -> list[MemoryHit]:
        query = _VIEW.where(
            _m.c.scope == scope, _m.c.state == "active", _m.c.id.in_([i for i, _ in scores])
        )
        rows = {row.id: row for row in connection.execute(query)}
        return [
            as_struct(row, MemoryHit, score=score, provenance=_provenance(row))
            for identity, score in scores
            if (row := rows.get(identity)) is not None
        ]

    @transaction()
    def without_vector(
        self, connection: Connection, model: str, limit: int
    ) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = []
        # Each query reads a range of an index; memories with the right model are never read.
        for other in (_m.c.model.is_(None), _m.c.model < model, _m.c.model > model):
            query = sa.select(_m.c.id, _m.c.text).where(_m.c.state == "active", other)
            rows += [(i, t) for i, t in connection.execute(query.limit(limit - len(rows)))]
        return rows

    async def embed(self, model: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        if vectors:
            await self._embed(model, dict(vectors))

    @transaction("memory")
    def _embed(self, connection: Connection, model: str, vectors: Mapping[int, bytes]) -> None:
        # One after another: a reader of everything up to a number must not miss a smaller one that
        # commits later.
        alone(connection, "memory vectors")
        mine = sa.and_(_m.c.id.in_(vectors), _m.c.state == "active")
        active = connection.execute(sa.select(_m.c.id, _m.c.scope).where(mine))
        scopes: dict[int, str] = {row.id: row.scope for row in active}
        query = sa.select(_v.c.scope, sa.func.max(_v.c.seq).label("last")).group_by(_v.c.scope)
        theirs = connection.execute(query.where(_v.c.scope.in_(set(scopes.values()))))
        last: dict[str, int] = {row.scope: row.last for row in theirs}
        rows = []
        for identity, scope in scopes.items():
            last[scope] = seq = last.get(scope, 0) + 1
            row = {"id": identity, "scope": scope, "seq": seq, "model": model}
            rows.append(row | {"vector": vectors[identity]})
        connection.execute(sa.delete(_v).where(_v.c.id.in_(scopes)))
        connection.execute(sa.update(_m).where(_m.c.id.in_(scopes)).values(model=model))
        if rows:
            connection.execute(sa.insert(_v), rows)


def _view(row: sa.Row[*tuple[Any, ...]]) -> MemoryView:
    return as_struct(row, MemoryView, provenance=_provenance(row))


def _provenance(row: sa.Row[*tuple[Any, ...]]) -> Provenance:
    origin = msgspec.json.decode(row.provenance, type=Provenance)
    return msgspec.structs.replace(origin, file=row.file)


def _placed(row: sa.Row[*tuple[Any, ...]], file: str) -> dict[str, object]:
    """The changes when a memory appears in that file. Content that a person admits from outside is
    no longer untrusted.
    """
    if row.state == "active":
        return {"file": file}
    origin = msgspec.structs.replace(_provenance(row), file="", tainted=False)
    return {"file": file, "state": "active", "provenance": msgspec.json.encode(origin)}


def _by_digest(connection: Connection, scope: str, digest: bytes) -> SavedMemory | None:
    query = sa.select(_m.c.id, _m.c.state).where(_m.c.scope == scope, _m.c.digest == digest)
    row = connection.execute(query).first()
    return None if row is None else SavedMemory(id=row.id, state=row.state, fresh=False)


def _save(connection: Connection, now: float, draft: Draft) -> SavedMemory:
    alone(connection, f"memory {draft.scope}")
    existing = _by_digest(connection, draft.scope, draft.digest)
    if existing is not None and (draft.state != "active" or existing.state == "active"):
        return existing
    values = _values(draft, now)
    if existing is not None:
        connection.execute(sa.update(_m).where(_m.c.id == existing.id).values(**values))
        return msgspec.structs.replace(existing, state=draft.state)
    return SavedMemory(id=_insert(connection, draft, now), state=draft.state, fresh=True)


def _add(connection: Connection, now: float, draft: Draft) -> None:
    alone(connection, f"memory {draft.scope}")
    if _by_digest(connection, draft.scope, draft.digest) is None:
        _insert(connection, draft, now)


def _insert(connection: Connection, draft: Draft, now: float) -> int:
    values = _values(draft, now) | {
        "scope": draft.scope,
        "digest": draft.digest,
        "text": draft.text,
        "terms": draft.terms,
        "created_at": now,
    }
    if draft.id is not None:
        values["id"] = draft.id
    identity = connection.execute(sa.insert(_m).returning(_m.c.id), values).scalar_one()
    full_text.MEMORIES.tend(connection)
    return int(identity)


def _values(draft: Draft, now: float) -> dict[str, object]:
    origin = draft.provenance
    return {
        "state": draft.state,
        "kind": draft.kind,
        "provenance": msgspec.json.encode(msgspec.structs.replace(origin, file="")),
        "file": origin.file,
        "updated_at": now,
    }


def _remove(connection: Connection, ids: Sequence[int]) -> int:
    """The number of them."""
    connection.execute(sa.delete(_v).where(_v.c.id.in_(ids)))
    return connection.execute(sa.delete(_m).where(_m.c.id.in_(ids))).rowcount
