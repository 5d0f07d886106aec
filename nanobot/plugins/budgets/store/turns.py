"""Decides how several processes check a budget at once: concurrently far from its limits, one after
the other near them.

Far means: at most half of each limit is used, and the call wants at most its share of the other
half, which is divided by the server's connections. A caller that is far sees everything but
uncommitted calls, at most one per connection: together these stay within the other half. A caller
that is near waits for all of those, and then sees everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import sqlalchemy as sa

from nanobot.plugins.budgets.limits import BudgetLimit, Level
from nanobot.plugins.budgets.reservations import UsageSum
from nanobot.plugins.common.store.server_locks import LOCK
from nanobot.ports import Clock
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.database.prepared import Prepared

PLACE = "budgets"
_NEAR_SECONDS = 60.0
_MOST_KEPT = 1_000
_NOTHING = UsageSum()
_TOGETHER = Prepared(sa.text(f"SELECT pg_advisory_xact_lock_shared({LOCK})"))


def together(connection: Connection) -> None:
    """Wait until no transaction checks a budget alone, and make later ones that do wait for this
    transaction."""
    if connection.dialect.name == "postgresql":
        _TOGETHER.execute(connection, n=PLACE)


class BudgetTurns:
    """One per process. It remembers for a minute which limits are near, so that it need not block
    others to find out.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._near: dict[tuple[str, ...], float] = {}
        self._connections = 0

    def used(
        self,
        connection: Connection,
        limits: Sequence[BudgetLimit],
        more: UsageSum,
        read: Callable[[], dict[Level, UsageSum]],
    ) -> dict[Level, UsageSum]:
        """The usage, as found by `read`. No limit is exceeded if the amount that this transaction
        adds fits and is at most `more`.
        """
        if connection.dialect.name != "postgresql":
            return read()
        key, now = tuple(limit.key for limit in limits), self._clock.monotonic()
        if self._near.get(key, 0.0) <= now:
            together(connection)
            used = read()
            if _far(limits, used, more, self._most_connections(connection)):
                return used
            self._near[key] = now + _NEAR_SECONDS
            if len(self._near) > _MOST_KEPT:
                del self._near[next(iter(self._near))]
        alone(connection, PLACE)
        return read()

    def bounds(
        self, limits: Sequence[BudgetLimit], more: UsageSum, warned: Callable[[BudgetLimit], float]
    ) -> list[float] | None:
        """Below which usage of each limit a call of `more` is far from them all, and stays below
        what `warned` gives. None: it may be near.
        """
        key = tuple(limit.key for limit in limits)
        if limits and not (
            self._connections
            and self._near.get(key, 0.0) <= self._clock.monotonic()
            and _small(limits, more, self._connections)
        ):
            return None
        bounds = [min(limit.amount / 2, warned(limit)) for limit in limits]
        return bounds if all(bound > 0 for bound in bounds) else None

    def _most_connections(self, connection: Connection) -> int:
        if not self._connections:
            self._connections = int(connection.scalar(sa.text("SHOW max_connections")) or 0)
        return self._connections


def _far(
    limits: Sequence[BudgetLimit],
    used: Mapping[Level, UsageSum],
    more: UsageSum,
    connections: int,
) -> bool:
    return _small(limits, more, connections) and all(
        limit.used(used.get(limit.level, _NOTHING)) <= limit.amount / 2 for limit in limits
    )


def _small(limits: Sequence[BudgetLimit], more: UsageSum, connections: int) -> bool:
    return all(limit.used(more) <= limit.amount / (2 * connections) for limit in limits)
