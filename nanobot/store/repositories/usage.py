"""What was used, over SQL: as the limits see it, and as people do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from nanobot.agent.budgets import LEVELS, Account, Level
from nanobot.session.usage import UsageRow, UsageSum
from nanobot.store.database import schema
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.sqlite import Database

_c = schema.model_call_costs
_t = schema.usage_totals


def _standing() -> sa.CompoundSelect[*tuple[Any, ...]]:
    """What is settled of each account, and every open call: in one statement, so that no call is
    settled between the two."""
    nothing: sa.ColumnElement[str] = sa.literal_column("''")
    settled = [
        sa.select(
            sa.literal_column(f"'{level}'").label("level"),
            nothing.label("person"),
            nothing.label("chat"),
            nothing.label("job"),
            nothing.label("model"),
            _t.c.requests,
            (_t.c.tokens_in + _t.c.tokens_out).label("tokens"),
            _t.c.cost,
        ).where(
            _t.c.day == sa.bindparam("day"),
            _t.c.level == sa.literal_column(f"'{level}'"),
            _t.c.name == sa.bindparam(level),
        )
        for level in LEVELS
    ]
    waiting = sa.select(
        nothing.label("level"),
        *(_c.c[level] for level in LEVELS[1:]),
        _c.c.requests,
        (_c.c.tokens_in + _c.c.tokens_out).label("tokens"),
        _c.c.cost,
    ).where(_c.c.day == sa.bindparam("day"), schema.CALL_OPEN)
    return sa.union_all(*settled, waiting)


_STANDING = Prepared(_standing())


def standing(connection: sa.Connection, day: str, who: Account) -> dict[Level, UsageSum]:
    """What is used and reserved of each account on a day."""
    names = who.names()
    used: dict[Level, UsageSum] = {level: UsageSum() for level in names}
    parameters: dict[str, str] = {level: names.get(level, "") for level in LEVELS}
    parameters["day"] = day
    for row in _STANDING.execute(connection, parameters).all():
        amount = UsageSum(requests=row.requests, tokens=row.tokens, cost=row.cost)
        if row.level:
            if row.level in used:
                used[row.level] = used[row.level].plus(amount)
            continue
        for level, name in names.items():
            if level == "all" or getattr(row, level) == name:
                used[level] = used[level].plus(amount)
    return used


class SqlUsageStore:
    """See UsageStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, by: str, since: str, who: Mapping[Level, str]) -> list[UsageRow]:
        return await self._database.transact(lambda c: _rows(c, by, since, who))

    async def standing(self, day: str, who: Account) -> dict[Level, UsageSum]:
        return await self._database.transact(lambda c: standing(c, day, who))


def _rows(
    connection: sa.Connection, by: str, since: str, who: Mapping[Level, str]
) -> list[UsageRow]:
    level, name = next(iter(who.items()), ("all" if by == "day" else by, None))
    called = _t.c.day if by == "day" else _t.c.name
    total = (_t.c.requests, _t.c.tokens_in, _t.c.tokens_out, _t.c.cost, _t.c.unpriced)
    query = (
        sa.select(called, *(sa.func.sum(column) for column in total))
        .where(_t.c.day >= since, _t.c.level == level)
        .group_by(called)
        .order_by(called if by == "day" else sa.func.sum(_t.c.cost).desc(), called)
    )
    if name is not None:
        query = query.where(_t.c.name == name)
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
