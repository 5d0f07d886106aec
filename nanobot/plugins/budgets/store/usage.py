"""Usage over SQL: for checking limits, and for display."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import sqlalchemy as sa

from nanobot.plugins.budgets.limits import LEVELS, Account, Level
from nanobot.plugins.budgets.reservations import UsageRow, UsageSum
from nanobot.plugins.common.store import usage_tables
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared
from nanobot.store.verbs import SqlStore, transaction, verb

_c = usage_tables.model_call_costs
_t = usage_tables.usage_totals
_changes = usage_tables.usage_changes
_NOTHING: sa.ColumnElement[str] = sa.literal_column("''")
_LATEST = 500
_COUNTED = ("day", "level", "name", "requests", "tokens_in", "tokens_out", "cost", "unpriced")


def _of(table: sa.Table, level: Level) -> sa.Select[*tuple[Any, ...]]:
    its_level: sa.ColumnElement[str] = sa.literal_column(f"'{level}'")
    return (
        sa.select(
            its_level.label("level"),
            *(_NOTHING.label(each) for each in LEVELS[1:]),
            sa.func.sum(table.c.requests).label("requests"),
            sa.func.sum(table.c.tokens_in + table.c.tokens_out).label("tokens"),
            sa.func.sum(table.c.cost).label("cost"),
        )
        .where(
            table.c.day == sa.bindparam("day"),
            table.c.level == its_level,
            table.c.name == sa.bindparam(level),
        )
        .group_by(table.c.level)
    )


def everything(dialect: str, levels: Collection[Level]) -> sa.CompoundSelect[Any]:
    """The settled usage of the account at each level, folded and unfolded, and every open call: in
    one statement, so that no call is settled or folded in between. With SQLite everything is
    folded.
    """
    tables = (_t,) if dialect == "sqlite" else (_t, _changes)
    settled = [_of(table, level) for table in tables for level in levels]
    waiting = sa.select(
        _NOTHING.label("level"),
        *(_c.c[level] for level in LEVELS[1:]),
        _c.c.requests,
        (_c.c.tokens_in + _c.c.tokens_out).label("tokens"),
        _c.c.cost,
    ).where(_c.c.day == sa.bindparam("day"), usage_tables.CALL_OPEN)
    return sa.union_all(*settled, waiting)


@cache
def _standing(dialect: str, levels: tuple[Level, ...]) -> Prepared:
    return Prepared(everything(dialect, levels))


def standing(connection: Connection, day: str, who: Account) -> dict[Level, UsageSum]:
    """The usage and reservations of each account on a day."""
    return standing_at(connection, day, who, LEVELS)


def standing_at(
    connection: Connection, day: str, who: Account, levels: Collection[Level]
) -> dict[Level, UsageSum]:
    """Like `standing`, only at these levels."""
    names = {level: name for level, name in who.names().items() if level in levels}
    used: dict[Level, UsageSum] = {level: UsageSum() for level in names}
    parameters: dict[str, str] = {"day": day, **{str(level): name for level, name in names.items()}}
    prepared = _standing(connection.dialect.name, tuple(names))
    for row in prepared.execute(connection, parameters).all():
        amount = UsageSum(requests=int(row.requests), tokens=int(row.tokens), cost=float(row.cost))
        if row.level:
            if row.level in used:
                used[row.level] = used[row.level].plus(amount)
            continue
        for level, name in names.items():
            if level == "all" or getattr(row, level) == name:
                used[level] = used[level].plus(amount)
    return used


class SqlUsageStore(SqlStore):
    """See UsageStore."""

    standing = verb(standing)

    @transaction()
    def tokens(self, connection: Connection, since: float, until: float) -> int:
        last = sa.select(_c.c.at, _c.c.tokens_in, _c.c.tokens_out).order_by(_c.c.id.desc())
        calls = connection.execute(last.limit(_LATEST)).all()
        return sum(read + said for at, read, said in calls if since < at <= until)

    @transaction()
    def rows(
        self, connection: Connection, by: str, since: str, who: Mapping[Level, str]
    ) -> list[UsageRow]:
        level, name = next(iter(who.items()), ("all" if by == "day" else by, None))
        both = [sa.select(*(table.c[column] for column in _COUNTED)) for table in (_t, _changes)]
        for_whom = [
            query.where(query.selected_columns.day >= since, query.selected_columns.level == level)
            for query in both
        ]
        counted = sa.union_all(*for_whom).subquery().c
        called = counted.day if by == "day" else counted.name
        total = [sa.func.sum(counted[column]) for column in _COUNTED[3:]]
        query = (
            sa.select(called, *total)
            .group_by(called)
            .order_by(called if by == "day" else sa.func.sum(counted.cost).desc(), called)
        )
        if name is not None:
            query = query.where(counted.name == name)
        return [
            UsageRow(
                name=row[0],
                requests=int(row[1]),
                tokens_in=int(row[2]),
                tokens_out=int(row[3]),
                cost=float(row[4]),
                unpriced=int(row[5]),
            )
            for row in connection.execute(query)
        ]
