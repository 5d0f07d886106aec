"""The Memories over SQL: FTS5 on SQLite, tsvector on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.memory.port import Kind, MemoryHit, MemoryView, Provenance, SavedMemory, State
from nanobot.memory.records import Draft, MemoryLine, Vectors
from nanobot.store.database import schema
from nanobot.store.database.dialect import alone
from nanobot.store.database.prepared import prepared
from nanobot.store.database.sqlite import Database
from nanobot.store.unit import StoreContext

_m = schema.memories
_FTS = sa.text(
    "SELECT m.id FROM memories_fts JOIN memories m ON m.id = memories_fts.rowid "
    "WHERE memories_fts MATCH :q AND m.scope = :s AND m.state = 'active' "
    "ORDER BY bm25(memories_fts), m.id DESC LIMIT :n"
)
# How many of the words are there counts most; the length only between equals.
_TSV = sa.text(
    "SELECT id FROM memories, to_tsquery('simple'::regconfig, :q) AS asked "
    "WHERE to_tsvector('simple'::regconfig, terms) @@ asked AND scope = :s AND state = 'active' "
    "ORDER BY ts_rank(to_tsvector('simple'::regconfig, terms), asked, 1) DESC, id DESC LIMIT :n"
)
prepared(_FTS)
_MANY = 500
_FORGOTTEN = "forgotten"
"""The state of what is gone for everybody and whose line may still be in a file."""


class SqlMemoryStore:
    """See memory.records.MemoryStore: the same for SQLite and PostgreSQL."""

    def __init__(self, database: Database, writer: StoreContext) -> None:
        self._database = database
        self._writer = writer

    async def follow(self, scope: str, lines: Sequence[MemoryLine]) -> None:
        """The active memories of a scope are these lines."""
        now = self._writer.clock.now()
        await self._database.transact(lambda c: _follow(c, now, scope, lines), "memory")

    async def save(self, draft: Draft) -> SavedMemory:
        """Keep a memory once."""
        now = self._writer.clock.now()
        return await self._database.transact(lambda c: _save(c, now, draft), "memory")

    def saving(self, draft: Draft) -> Callable[[Any], None]:
        """What keeps a memory within another transaction."""
        return lambda connection: _add(connection, self._writer.clock.now(), draft)

    async def reserve(self) -> int:
        """An id that nobody gets again."""

        def work(connection: sa.Connection) -> int:
            blank: dict[str, object] = {"scope": "", "digest": b"", "text": "", "terms": ""}
            blank |= {"state": _FORGOTTEN, "kind": "note", "provenance": b"{}"}
            blank |= {"created_at": 0.0, "updated_at": 0.0}
            alone(connection, "memory")
            made = connection.execute(sa.insert(_m).returning(_m.c.id), blank).scalar_one()
            connection.execute(sa.delete(_m).where(_m.c.id == made))
            return int(made)

        return await self._database.transact(work, "memory_reserved")

    def keeping(self, draft: Draft) -> Callable[[Any], None]:
        """What keeps a memory within another transaction, also one that was rejected."""

        def write(connection: sa.Connection) -> None:
            _save(connection, self._writer.clock.now(), draft)

        return write

    def forgetting(self, identity: int) -> Callable[[Any], None]:
        """What makes a memory forgotten within another transaction."""
        gone = sa.update(_m).where(_m.c.id == identity).values(state=_FORGOTTEN)

        def write(connection: sa.Connection) -> None:
            connection.execute(gone)

        return write

    async def forgotten(self, scope: str) -> list[tuple[int, str]]:
        """What is to be removed yet."""
        query = sa.select(_m.c.id, _m.c.text)
        query = query.where(_m.c.scope == scope, _m.c.state == _FORGOTTEN)
        return await self._database.transact(lambda c: [(i, t) for i, t in c.execute(query)])

    async def unfiled(self, scope: str) -> list[tuple[str, Kind]]:
        """The active memories that are in no file."""
        query = sa.select(_m).where(_m.c.scope == scope, _m.c.state == "active").order_by(_m.c.id)
        return await self._database.transact(
            lambda c: [
                (row.text, row.kind) for row in c.execute(query) if not _provenance(row).file
            ]
        )

    async def known(self, scope: str, digest: bytes) -> SavedMemory | None:
        """The memory of that text."""
        return await self._database.transact(lambda c: _known(c, scope, digest))

    async def settle(self, identity: int, state: State, file: str) -> bool:
        """A proposed memory gets that state."""
        now = self._writer.clock.now()
        return await self._database.transact(
            lambda c: _settle(c, now, identity, state, file), "memory"
        )

    async def remove(self, identity: int) -> bool:
        """Remove a memory with every trace of it."""
        gone = sa.delete(_m).where(_m.c.id == identity)
        found = await self._database.transact(lambda c: c.execute(gone).rowcount == 1, "memory")
        await self._clean()
        return found

    async def _clean(self) -> None:
        """FTS5 notes beside a word that its memory is gone, until it writes the index anew."""
        if self._database.dialect == "sqlite":
            anew = sa.text("INSERT INTO memories_fts (memories_fts) VALUES ('optimize')")
            await self._database.transact(lambda c: c.execute(anew).close(), "memory")
        await self._database.scrub()

    async def one(self, identity: int) -> MemoryView | None:
        """One memory."""
        query = sa.select(_m).where(_m.c.id == identity, _m.c.state != _FORGOTTEN)
        return await self._database.transact(
            lambda c: None if (row := c.execute(query).first()) is None else _view(row)
        )

    async def listed(
        self, *, scopes: Sequence[str] | None, state: str, limit: int
    ) -> list[MemoryView]:
        """Memories, the newest first."""
        query = sa.select(_m).where(_m.c.state != _FORGOTTEN)
        query = query.order_by(_m.c.id.desc()).limit(limit)
        if scopes is not None:
            query = query.where(_m.c.scope.in_(scopes))
        if state:
            query = query.where(_m.c.state == state)
        return await self._database.transact(lambda c: [_view(row) for row in c.execute(query)])

    async def scopes(self) -> list[str]:
        """Every scope there are memories of."""
        query = sa.select(_m.c.scope).distinct().order_by(_m.c.scope)
        return await self._database.transact(lambda c: list(c.scalars(query)))

    async def find(self, scope: str, terms: Sequence[str], limit: int) -> list[int]:
        """The active memories that contain some of the terms."""
        if not terms:
            return []
        if self._database.dialect == "sqlite":
            query, asked = _FTS, " OR ".join(map(_quoted, terms))
        else:
            query, asked = _TSV, " | ".join(one.replace("*", ":*") for one in terms)
        values = {"q": asked, "s": scope, "n": limit}
        return await self._database.transact(
            lambda c: [identity for (identity,) in c.execute(query, values)]
        )

    async def vectors(self, scope: str, model: str, stamp: str) -> Vectors | None:
        """The vectors of a scope."""
        return await self._database.transact(lambda c: _vectors(c, scope, model, stamp))

    async def get(self, scope: str, scores: Sequence[tuple[int, float]]) -> list[MemoryHit]:
        """Active memories by id."""
        if not scores:
            return []
        return await self._database.transact(lambda c: _get(c, scope, scores))

    async def without_vector(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Memories that still need a vector."""
        query = (
            sa.select(_m.c.id, _m.c.text)
            .where(_m.c.model.is_distinct_from(model), _m.c.state.in_(("active", "proposed")))
            .order_by(_m.c.id.desc())
            .limit(limit)
        )
        return await self._database.transact(lambda c: [(i, t) for i, t in c.execute(query)])

    async def embed(self, model: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep vectors."""
        query = (
            sa.update(_m)
            .where(_m.c.id == sa.bindparam("i"))
            .values(model=model, embedding=sa.bindparam("v"))
        )
        values = [{"i": identity, "v": vector} for identity, vector in vectors]
        if values:
            await self._database.transact(lambda c: c.execute(query, values).close(), "memory")


def _quoted(term: str) -> str:
    return f'"{term[:-1]}" *' if term.endswith("*") else f'"{term}"'


def _view(row: sa.Row[*tuple[Any, ...]]) -> MemoryView:
    return MemoryView(
        id=row.id,
        scope=row.scope,
        text=row.text,
        state=row.state,
        kind=row.kind,
        provenance=_provenance(row),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _provenance(row: sa.Row[*tuple[Any, ...]]) -> Provenance:
    return msgspec.json.decode(row.provenance, type=Provenance)


def _placed(row: sa.Row[*tuple[Any, ...]], file: str) -> bytes:
    """Where it comes from, and in which file it stands now. What a person lets in from outside is
    outside no more."""
    found = _provenance(row)
    tainted = found.tainted and row.state == "active"
    return msgspec.json.encode(msgspec.structs.replace(found, file=file, tainted=tainted))


def _known(connection: sa.Connection, scope: str, digest: bytes) -> SavedMemory | None:
    query = sa.select(_m.c.id, _m.c.state).where(_m.c.scope == scope, _m.c.digest == digest)
    row = connection.execute(query).first()
    return None if row is None else SavedMemory(id=row.id, state=row.state, fresh=False)


def _save(connection: sa.Connection, now: float, draft: Draft) -> SavedMemory:
    alone(connection, f"memory {draft.scope}")
    known = _known(connection, draft.scope, draft.digest)
    if known is not None and (draft.state != "active" or known.state == "active"):
        return known
    values = _values(draft, now)
    if known is not None:
        connection.execute(sa.update(_m).where(_m.c.id == known.id).values(**values))
        return msgspec.structs.replace(known, state=draft.state)
    return SavedMemory(id=_insert(connection, draft, now), state=draft.state, fresh=True)


def _add(connection: sa.Connection, now: float, draft: Draft) -> None:
    alone(connection, f"memory {draft.scope}")
    if _known(connection, draft.scope, draft.digest) is None:
        _insert(connection, draft, now)


def _insert(connection: sa.Connection, draft: Draft, now: float) -> int:
    values = _values(draft, now) | {
        "scope": draft.scope,
        "digest": draft.digest,
        "text": draft.text,
        "terms": draft.terms,
        "created_at": now,
    }
    if draft.id is not None:
        values["id"] = draft.id
    made = connection.execute(sa.insert(_m).returning(_m.c.id), values).scalar_one()
    return int(made)


def _values(draft: Draft, now: float) -> dict[str, object]:
    return {
        "state": draft.state,
        "kind": draft.kind,
        "provenance": msgspec.json.encode(draft.provenance),
        "updated_at": now,
    }


def _follow(connection: sa.Connection, now: float, scope: str, lines: Sequence[MemoryLine]) -> None:
    alone(connection, f"memory {scope}")
    query = sa.select(_m.c.id, _m.c.digest, _m.c.state, _m.c.provenance)
    there = {bytes(row.digest): row for row in connection.execute(query.where(_m.c.scope == scope))}
    told = {line.digest: line for line in lines}
    gone = [
        row.id
        for digest, row in there.items()
        if row.state == "active" and digest not in told and _provenance(row).file
    ]
    for at in range(0, len(gone), _MANY):
        connection.execute(sa.delete(_m).where(_m.c.id.in_(gone[at : at + _MANY])))
    for digest, line in told.items():
        row = there.get(digest)
        if row is not None and row.state == _FORGOTTEN:
            continue
        if row is not None and (row.state != "active" or _provenance(row).file != line.file):
            placed = {"state": "active", "provenance": _placed(row, line.file), "updated_at": now}
            connection.execute(sa.update(_m).where(_m.c.id == row.id).values(**placed))
    fresh = [
        {
            "scope": scope,
            "digest": digest,
            "text": line.text,
            "terms": line.terms,
            "state": "active",
            "kind": line.kind,
            "provenance": msgspec.json.encode(Provenance(file=line.file)),
            "created_at": now,
            "updated_at": now,
        }
        for digest, line in told.items()
        if digest not in there
    ]
    if fresh:
        connection.execute(sa.insert(_m), fresh)


def _settle(connection: sa.Connection, now: float, identity: int, state: State, file: str) -> bool:
    query = sa.select(_m).where(_m.c.id == identity, _m.c.state == "proposed").with_for_update()
    row = connection.execute(query).first()
    if row is None:
        return False
    values = {"state": state, "provenance": _placed(row, file), "updated_at": now}
    connection.execute(sa.update(_m).where(_m.c.id == identity).values(**values))
    return True


def _vectors(connection: sa.Connection, scope: str, model: str, stamp: str) -> Vectors | None:
    mine = sa.and_(_m.c.scope == scope, _m.c.model == model, _m.c.state == "active")
    counted = sa.select(sa.func.count(), sa.func.max(_m.c.id), sa.func.sum(_m.c.id)).where(mine)
    now = " ".join(map(str, connection.execute(counted).one()))
    if now == stamp:
        return None
    rows = connection.execute(sa.select(_m.c.id, _m.c.embedding).where(mine)).all()
    return Vectors(now, tuple(r.id for r in rows), tuple(bytes(r.embedding) for r in rows))


def _get(
    connection: sa.Connection, scope: str, scores: Sequence[tuple[int, float]]
) -> list[MemoryHit]:
    query = sa.select(_m).where(
        _m.c.scope == scope, _m.c.state == "active", _m.c.id.in_([i for i, _ in scores])
    )
    rows = {row.id: row for row in connection.execute(query)}
    return [
        MemoryHit(
            id=identity,
            text=rows[identity].text,
            score=score,
            provenance=_provenance(rows[identity]),
            kind=rows[identity].kind,
            created_at=rows[identity].created_at,
        )
        for identity, score in scores
        if identity in rows
    ]
