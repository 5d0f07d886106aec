"""The settlement of model calls: what a call really used, in the place of its reservation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from nanobot.plugins.budgets.limits import Account
from nanobot.plugins.budgets.reservations import CallEstimate, CallOutcome, lost, outcome
from nanobot.plugins.budgets.store import totals
from nanobot.plugins.budgets.store.lost_calls import MADE_AGAIN
from nanobot.plugins.common.store import usage_tables
from nanobot.providers.base import Price, Usage
from nanobot.session.entries import Body
from nanobot.session.runs import Run
from nanobot.session.store_write import StoreWrite
from nanobot.session.usage import dollars
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult

_c = usage_tables.model_call_costs

_CALL = sa.select(_c).where(_c.c.id == sa.bindparam("i")).with_for_update()
_SETTLE = Prepared(
    sa.update(_c)
    .where(_c.c.id == sa.bindparam("i"))
    .values(
        state=sa.bindparam("s"),
        requests=sa.bindparam("r"),
        tokens_in=sa.bindparam("ti"),
        tokens_out=sa.bindparam("to"),
        cost=sa.bindparam("d"),
    )
)


def settle_all(
    connection: Connection, calls: PreparedResult, bodies: Sequence[Body], ended: str | None
) -> Any:
    """Settle the ended calls; if the last call has no known usage, at its reservation."""
    last = None
    for row in calls:
        done = outcome(row.call, reserved(row), bodies, ended)
        if done is not None:
            settle(connection, row, done)
            last = row
    return last


def settle_left(
    connection: Connection,
    left: PreparedResult,
    alive: Collection[int],
    run: Run,
    number: int,
    root: str,
) -> bool:
    """Settle the open calls that earlier runs, or this one before a crash, left. `alive`: the rows
    of calls that are under way."""
    rows = [row for row in left if row.id not in alive]
    for row in rows:
        again = row.run_id == run.id and bool(row.call) is bool(number)
        if again and row.root == root:
            settle(connection, row, MADE_AGAIN)  # its reservation is transferred to the new call
        else:
            settle(connection, row, lost(reserved(row)))
    return bool(rows)


def reserved(row: Any) -> CallEstimate:
    """What the row of an open call reserves."""
    return CallEstimate(tokens_in=row.tokens_in, tokens_out=row.tokens_out, price=price_of(row))


def price_of(row: Any) -> Price | None:
    """The price of the row's model when the call began; None if it was unknown."""
    if row.price_in is None:
        return None
    return Price(
        prompt=row.price_in,
        completion=row.price_out,
        cached=row.price_cached,
        cache_write=row.price_cache_write,
    )


def columns_of(price: Price | None) -> dict[str, float | None]:
    """The columns that `price_of` reads."""
    return {
        "price_in": None if price is None else price.prompt,
        "price_out": None if price is None else price.completion,
        "price_cached": None if price is None else price.cached,
        "price_cache_write": None if price is None else price.cache_write,
    }


def settle(connection: Connection, row: Any, done: CallOutcome) -> None:
    """Replace a call's reservation by what it used, in its row and in all totals."""
    cost = cost_of(row, done)
    amounts = {
        "i": row.id,
        "s": done.state,
        "r": 1,
        "ti": done.tokens_in,
        "to": done.tokens_out,
        "d": cost,
    }
    _SETTLE.execute(connection, amounts)
    count(connection, row, done, cost)


def cost_of(row: Any, done: CallOutcome) -> float:
    """Dollars; 0 without a price."""
    price = price_of(row)
    used = Usage(done.tokens_in, done.tokens_out, done.cached, done.cache_write)
    return 0.0 if price is None else dollars(price.of(used))


def count(connection: Connection, row: Any, done: CallOutcome, cost: float) -> None:
    """Add a call to the totals; for a call that was counted as lost, only the difference."""
    before = row if row.state in _GONE else _NOTHING_YET
    counted = [
        {
            "day": row.day,
            "level": level,
            "name": name,
            "requests": 1 - before.requests,
            "tokens_in": done.tokens_in - before.tokens_in,
            "tokens_out": done.tokens_out - before.tokens_out,
            "cost": cost - before.cost,
            "unpriced": int(row.price_in is None and row.state not in _GONE),
        }
        for level, name in account(row).names().items()
    ]
    totals.add(connection, counted)


_GONE = ("lost", "replaced")
_NOTHING_YET = SimpleNamespace(requests=0, tokens_in=0, tokens_out=0, cost=0.0)


def account(row: Any) -> Account:
    """Who the row's call is charged to."""
    return Account(person=row.person, chat=row.chat, job=row.job, model=row.model)


class AuxiliaryReservation:
    """See Reservation: the row of the call."""

    def __init__(self, identity: int, row: Mapping[str, Any]) -> None:
        self._row = SimpleNamespace(id=identity, **row)

    @property
    def max_tokens(self) -> int:
        """Tokens of an answer that fit every limit."""
        return int(self._row.tokens_out)

    def settled(self, usage: Usage) -> StoreWrite:
        """The write that settles the call."""
        return _Settling(self._row, reserved(self._row).bounded(usage))


class _Settling:
    """See StoreWrite."""

    def __init__(self, row: Any, usage: Usage) -> None:
        self._row = row
        self._usage = usage

    def write(self, connection: Connection) -> None:
        """Idempotent: does nothing if the end of the run has settled it. The usage is counted even
        if the conversation has been deleted.
        """
        usage = self._usage
        done = CallOutcome(
            state="settled" if usage.prompt_tokens else "failed",
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
            cached=usage.cached_tokens,
            cache_write=usage.cache_write_tokens,
        )
        row = connection.execute(_CALL, {"i": self._row.id}).first()
        if row is None:
            count(connection, self._row, done, cost_of(self._row, done))
        elif row.state in ("open", *_GONE):
            settle(connection, row, done)

    def written(self) -> None:
        """Remove a reservation that no caller waits for."""
