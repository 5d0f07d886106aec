"""The marks on files with untrusted content, over SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from nanobot.plugins.file_labels import tables
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.database.prepared import Prepared
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

_t = tables.tainted_files
_AT_ONCE = 500
_FEW = 8

_NAMES = sa.select(_t.c.name).where(_t.c.kind == sa.bindparam("k"))
_OF_KIND = Prepared(_NAMES)
_MARK = Prepared(_NAMES.where(_t.c.name == sa.bindparam("n")))


class SqlTaintMarks(SqlStore):
    """See `TaintMarks`: the same code for SQLite and PostgreSQL."""

    async def add(self, marks: Sequence[str]) -> None:
        for part in _parts(marks):
            await self._add(part)

    async def remove(self, marks: Sequence[str]) -> None:
        for part in _parts(marks):
            await self._remove(part)

    @transaction()
    def any_of(self, connection: Connection, marks: Sequence[str]) -> bool:
        """Whether one of these exists."""
        return _any_of(connection, marks)

    @transaction()
    def look(
        self,
        connection: Connection,
        marks: Sequence[str],
        prefix: str,
        of: Callable[[str], Sequence[str]],
    ) -> tuple[bool, list[str]]:
        """Whether one of these exists, and the names of a kind for which one of `of(name)` does."""
        names = sorted(name for (name,) in _OF_KIND.execute(connection, k=prefix.rstrip(":")))
        found = [name for name in names if _any_of(connection, of(name))]
        return _any_of(connection, marks), found

    @transaction()
    def beginning_with(self, connection: Connection, prefix: str) -> list[str]:
        """The marks of a kind (with a trailing colon), sorted."""
        rows = _OF_KIND.execute(connection, k=prefix.rstrip(":"))
        return sorted([prefix + name for (name,) in rows])

    @transaction("taint_marked")
    def _add(self, unit: Unit, marks: Sequence[str]) -> None:
        alone(unit, "taint marks")  # two at once would each find that the mark is missing
        query = sa.select(_t.c.kind, _t.c.name).where(_among(marks))
        existing = {(row.kind, row.name) for row in unit.execute(query)}
        names = [name for name in map(_split, marks) if name not in existing]
        if names:
            unit.execute(
                sa.insert(_t),
                [{"kind": kind, "name": name, "at": unit.now} for kind, name in names],
            )

    @transaction("taint_cleared")
    def _remove(self, connection: Connection, marks: Sequence[str]) -> None:
        connection.execute(sa.delete(_t).where(_among(marks)))


def _any_of(connection: Connection, marks: Sequence[str]) -> bool:
    if len(marks) <= _FEW:  # those of a file
        found = [_MARK.execute(connection, k=k, n=n) for k, n in map(_split, marks)]
        return any(rows.first() for rows in found)
    query = sa.select(_t.c.name).where(_among(marks)).limit(1)
    return connection.execute(query).first() is not None


def _parts(marks: Sequence[str]) -> list[list[str]]:
    unique = list(dict.fromkeys(marks))
    return [unique[at : at + _AT_ONCE] for at in range(0, len(unique), _AT_ONCE)]


def _split(mark: str) -> tuple[str, str]:
    kind, _, name = mark.partition(":")
    return kind, name


def _among(marks: Sequence[str]) -> sa.ColumnElement[bool]:
    return sa.tuple_(_t.c.kind, _t.c.name).in_([_split(mark) for mark in marks])
