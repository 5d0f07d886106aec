"""Checks within PostgreSQL that a call is far from every limit.

Reading the usage, deciding, and writing the reservation takes two round trips. Most calls are far
from every limit, so they are reserved at once, behind a statement that fails the transaction if
that is not so. Then it is repeated, and looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import sqlalchemy as sa

from nanobot.plugins.budgets.limits import Account, BudgetLimit, Level, Measure
from nanobot.plugins.budgets.store.turns import together
from nanobot.plugins.budgets.store.usage import everything
from nanobot.plugins.common.store import usage_tables
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared, Stale

_c = usage_tables.model_call_costs


def check_far(
    connection: Connection,
    mine: Mapping[str, Any],
    who: Account,
    bounds: Mapping[BudgetLimit, float],
    doubt: Stale,
) -> None:
    """Fails the transaction with `doubt` unless the usage of each limit is below its bound, and the
    session has no open call. `mine`: the row of the new call.
    """
    if bounds:
        together(connection)
    names = who.names()
    values: dict[str, Any] = {"k": mine["session_key"], "day": mine["day"], "run": mine["root"]}
    for number, (limit, bound) in enumerate(bounds.items()):
        values[f"below{number}"] = bound
        if limit.level in names:
            values[limit.level] = names[limit.level]
    wanted = tuple((limit.level, limit.measure) for limit in bounds)
    _far(wanted).change_one(connection, doubt, values)


@cache
def _far(wanted: tuple[tuple[Level, Measure], ...]) -> Prepared:
    """One row if all is so, otherwise none; in one statement, like `everything`."""
    levels = [level for level in dict.fromkeys(level for level, _ in wanted) if level != "run"]
    used = everything("postgresql", levels).cte("used").c
    conditions: list[sa.ColumnElement[bool]] = []
    for number, (level, measure) in enumerate(wanted):
        if level == "run":
            total = sa.select(sa.func.sum(_c.c.cost)).where(_c.c.root == sa.bindparam("run"))
        else:
            waiting = used.level == sa.literal_column("''")
            if level != "all":
                waiting &= used[level] == sa.bindparam(level)
            theirs = used.level == sa.literal_column(f"'{level}'")
            total = sa.select(sa.func.sum(used[measure])).where(theirs | waiting)
        amount = sa.cast(
            sa.func.coalesce(total.scalar_subquery(), sa.literal_column("0")), sa.Double
        )
        conditions.append(amount < sa.bindparam(f"below{number}", type_=sa.Double))
    left = sa.select(_c.c.id).where(_c.c.session_key == sa.bindparam("k"), usage_tables.CALL_OPEN)
    return Prepared(sa.select(sa.literal_column("1")).where(~left.exists(), *conditions))
