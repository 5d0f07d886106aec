"""The ledger over SQL: reservations and their settlement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.agent.budgets import (
    Account,
    BudgetLimit,
    Budgets,
    Level,
    account_of,
    warning,
)
from nanobot.agent.budgets.reservations import CallEstimate, CallOutcome, UsageSum, lost, outcome
from nanobot.errors import OverBudget
from nanobot.messages import OutboundKind
from nanobot.ports import Clock
from nanobot.providers.base import ModelProfile, Price, Usage
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.entries import Body, ModelCallEntry
from nanobot.session.runs import Ending, Lane, Run
from nanobot.session.store_write import StoreWrite
from nanobot.session.usage import dollars
from nanobot.store.database import schema
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult
from nanobot.store.journal import log
from nanobot.store.repositories import usage_totals
from nanobot.store.repositories.budget_turns import BudgetTurns
from nanobot.store.repositories.call_limits import limits_of
from nanobot.store.repositories.lost_calls import MADE_AGAIN, with_lost
from nanobot.store.repositories.run_roots import beginning, job_name
from nanobot.store.repositories.usage import standing

_c = schema.model_call_costs

_RESERVE = Prepared(sa.insert(_c))
_RESERVE_ASIDE = Prepared(sa.insert(_c).returning(_c.c.id))
_HERE = sa.and_(_c.c.session_key == sa.bindparam("k"), schema.CALL_OPEN)
_OPEN = Prepared(sa.select(_c).where(_HERE, _c.c.run_id == sa.bindparam("i")))
_LEFT = Prepared(sa.select(_c).where(_HERE))
_LAST_AFTER = sa.select(_c).where(_c.c.root == sa.bindparam("i")).order_by(_c.c.id.desc()).limit(1)
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
_OF_ROOT = Prepared(
    sa.select(sa.func.coalesce(sa.func.sum(_c.c.cost), 0.0)).where(_c.c.root == sa.bindparam("i"))
)


class SqlBudgetLedger:
    """See store.unit.BudgetLedger."""

    def __init__(self, budgets: Budgets, clock: Clock) -> None:
        self._budgets = budgets
        self._clock = clock
        self._turns = BudgetTurns(clock)

    def reserve(self, connection: sa.Connection, run: Run, call: ModelCallEntry) -> ModelCallEntry:
        """Check the limits and reserve, atomically: see BudgetTurns.

        An open call of the session was lost in a crash, and counts as reserved. An open call made
        alongside a run that has ended also counts as reserved; it is corrected if its end arrives
        after all.
        """
        price = call.profile.price
        estimate = CallEstimate(tokens_in=call.estimate, tokens_out=call.max_tokens, price=price)
        mine = self._fitting(connection, run, call.call, call.profile, estimate)
        _RESERVE.execute(connection, mine)
        if mine["tokens_out"] < call.max_tokens:
            call = msgspec.structs.replace(call, max_tokens=mine["tokens_out"])
        return call

    def aside(
        self, connection: sa.Connection, lane: Lane, run: Run, call: AuxiliaryCall
    ) -> Reservation:
        log.fence(connection, lane)
        return self._aside(connection, run, call, apart=call.apart)

    def apart(self, connection: sa.Connection, run: Run, call: AuxiliaryCall) -> Reservation:
        return self._aside(connection, run, call, apart=True)

    def _aside(
        self, connection: sa.Connection, run: Run, call: AuxiliaryCall, *, apart: bool
    ) -> Reservation:
        price = call.profile.price
        estimate = CallEstimate(tokens_in=call.estimate, tokens_out=call.max_tokens, price=price)
        mine = self._fitting(connection, run, 0, call.profile, estimate, apart=apart)
        return _AuxiliaryReservation(int(_RESERVE_ASIDE.scalar(connection, mine)), mine)

    def retry(
        self, connection: sa.Connection, lane: Lane | None, run: Run, discarded: Usage
    ) -> None:
        """Settle the failed request in a separate row; the reservation remains for the next
        request. Raises OverBudget.
        """
        if lane is not None:
            log.fence(connection, lane)
        row = _OPEN.execute(connection, k=run.session_key, i=run.id).first()
        if row is None:  # a run that began in the meantime counted the call as lost
            row = connection.execute(_LAST_AFTER, {"i": _after(run)}).first()
        if row is None:
            return
        tokens = _reserved(row).bounded(discarded)
        failed = CallOutcome(
            state="estimated" if tokens.prompt_tokens else "failed",
            tokens_in=tokens.prompt_tokens,
            tokens_out=tokens.completion_tokens,
        )
        cost = _cost(row, failed)
        total = tokens.prompt_tokens + tokens.completion_tokens
        self._check(connection, row, UsageSum(requests=1, tokens=total, cost=cost))
        values = {**row._mapping, "state": failed.state, "requests": 1, "cost": cost}  # noqa: SLF001
        del values["id"]
        values |= {"tokens_in": failed.tokens_in, "tokens_out": failed.tokens_out}
        _RESERVE.execute(connection, values)
        _count(connection, SimpleNamespace(**values), failed, cost)

    def _check(self, connection: sa.Connection, row: Any, more: UsageSum) -> None:
        """Raises OverBudget if a limit has no room for the rest of a call."""
        budgets = self._budgets
        who = msgspec.structs.replace(_whose(row), job_name=job_name(connection, row.job))
        limits = limits_of(budgets, who, priced=row.price_in is not None)
        own = [] if row.root.startswith(_AFTER) else budgets.run_limit()
        if limits or own:
            used = self._turns.used(
                connection,
                [*limits, *own],
                more,
                lambda: self._used(connection, row.day, who, row.root if own else ""),
            )
            budgets.check([*limits, *own], used, more, budgets.period(self._clock.now()))

    def _used(
        self, connection: sa.Connection, day: str, who: Account, root: str
    ) -> dict[Level, UsageSum]:
        """The usage and reservations of a day, and of everything that the run `root` started."""
        used = standing(connection, day, who) if self._budgets.daily else {}
        if root:
            used["run"] = UsageSum(cost=_OF_ROOT.scalar(connection, i=root) or 0.0)
        return used

    def settle(self, connection: sa.Connection, run: Run, bodies: Sequence[Body]) -> None:
        _settle_all(connection, self.open_calls(connection, run), bodies, None)

    def _fitting(
        self,
        connection: sa.Connection,
        run: Run,
        number: int,
        profile: ModelProfile,
        estimate: CallEstimate,
        *,
        apart: bool = False,
    ) -> dict[str, Any]:
        """The row of a call that fits within every limit and is still open. Raises OverBudget."""
        # Calls after a run may happen alongside the calls of the next run.
        left = () if apart else _LEFT.execute(connection, k=run.session_key)
        first = beginning(connection, run)
        for row in left:
            again = row.run_id == run.id and bool(row.call) is bool(number)
            if again and row.root == first.run_id:
                _settle(connection, row, MADE_AGAIN)  # its reservation is transferred to this call
            else:
                _settle(connection, row, lost(_reserved(row)))
        budgets, period = self._budgets, self._budgets.period(self._clock.now())
        who = account_of(first, profile.label)
        limits = limits_of(budgets, who, priced=estimate.price is not None)
        own = [] if apart else budgets.run_limit()
        if limits or own:
            tokens = estimate.tokens_in + estimate.tokens_out
            used = self._turns.used(
                connection,
                [*limits, *own],
                UsageSum(requests=1, tokens=tokens, cost=estimate.cost),
                lambda: self._used(connection, period.day, who, first.run_id if own else ""),
            )
            try:
                most = budgets.allowed([*limits, *own], used, estimate, period)
            except OverBudget as refused:
                raise with_lost(connection, refused, period.day) from refused
            estimate = msgspec.structs.replace(estimate, tokens_out=most)
        price = estimate.price
        return {
            "run_id": run.id,
            "call": number,
            "root": _after(run) if apart else first.run_id,
            "session_key": run.session_key,
            "day": period.day,
            "at": self._clock.now(),
            "person": who.person,
            "chat": who.chat,
            "job": who.job,
            "model": who.model,
            "state": "open",
            "requests": 1,
            "tokens_in": estimate.tokens_in,
            "tokens_out": estimate.tokens_out,
            "cost": estimate.cost,
            "price_in": None if price is None else price.prompt,
            "price_out": None if price is None else price.completion,
            "price_cached": None if price is None else price.cached,
            "price_cache_write": None if price is None else price.cache_write,
        }

    def fold(self, connection: sa.Connection) -> None:
        usage_totals.fold(connection)

    def open_calls(self, connection: sa.Connection, run: Run) -> PreparedResult:
        return _OPEN.execute(connection, k=run.session_key, i=run.id)

    def close(
        self, connection: sa.Connection, run: Run, ending: Ending, calls: PreparedResult | None
    ) -> Ending:
        """Settle all open calls of the run, and add a warning to its answer if limits are near."""
        calls = calls or self.open_calls(connection, run)
        done = _settle_all(connection, calls, ending.bodies, ending.error or "")
        if done is None or ending.error is not None or not self._budgets.daily:
            return ending
        lines = self._warnings(connection, done)
        if not lines:
            return ending
        outbound = tuple(
            msgspec.structs.replace(message, text=f"{message.text}\n\n({' '.join(lines)})")
            if message.key == run.reply_key and message.kind is OutboundKind.REPLY
            else message
            for message in ending.outbound
        )
        return msgspec.structs.replace(ending, outbound=outbound)

    def _warnings(self, connection: sa.Connection, row: Any) -> list[str]:
        """Every limit that is near, once per day and chat."""
        budgets = self._budgets
        who = msgspec.structs.replace(_whose(row), job_name=job_name(connection, row.job))
        period = budgets.period(self._clock.now())
        if row.day != period.day:
            return []
        limits = limits_of(budgets, who, priced=row.price_in is not None)
        used = standing(connection, period.day, who)
        return [
            warning(limit, used[limit.level], period)
            for limit in limits
            if budgets.soft(limit, used[limit.level])
            and _first_time(connection, period.day, row.chat, limit)
        ]


_AFTER = "after "


def _after(run: Run) -> str:
    """The root of calls that follow a run."""
    return f"{_AFTER}{run.id}"


def _first_time(connection: sa.Connection, day: str, chat: str, limit: BudgetLimit) -> bool:
    table = schema.budget_warnings
    row = {"day": day, "chat": chat, "of": limit.key}
    return insert_ignore(connection, table, row, table.c.day) is not None


def _settle_all(
    connection: sa.Connection, calls: PreparedResult, bodies: Sequence[Body], ended: str | None
) -> Any:
    """Settle the ended calls; if the last call has no known usage, at its reservation."""
    last = None
    for row in calls:
        done = outcome(row.call, _reserved(row), bodies, ended)
        if done is not None:
            _settle(connection, row, done)
            last = row
    return last


def _reserved(row: Any) -> CallEstimate:
    return CallEstimate(tokens_in=row.tokens_in, tokens_out=row.tokens_out, price=_price(row))


def _price(row: Any) -> Price | None:
    if row.price_in is None:
        return None
    return Price(
        prompt=row.price_in,
        completion=row.price_out,
        cached=row.price_cached,
        cache_write=row.price_cache_write,
    )


def _settle(connection: sa.Connection, row: Any, done: CallOutcome) -> None:
    cost = _cost(row, done)
    amounts = {
        "i": row.id,
        "s": done.state,
        "r": 1,
        "ti": done.tokens_in,
        "to": done.tokens_out,
        "d": cost,
    }
    _SETTLE.execute(connection, amounts)
    _count(connection, row, done, cost)


def _cost(row: Any, done: CallOutcome) -> float:
    price = _price(row)
    used = Usage(done.tokens_in, done.tokens_out, done.cached, done.cache_write)
    return 0.0 if price is None else dollars(price.of(used))


def _count(connection: sa.Connection, row: Any, done: CallOutcome, cost: float) -> None:
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
        for level, name in _whose(row).names().items()
    ]
    usage_totals.add(connection, counted)


_GONE = ("lost", "replaced")
_NOTHING_YET = SimpleNamespace(requests=0, tokens_in=0, tokens_out=0, cost=0.0)


def _whose(row: Any) -> Account:
    return Account(person=row.person, chat=row.chat, job=row.job, model=row.model)


class _AuxiliaryReservation:
    """See Reservation: the row of the call."""

    def __init__(self, identity: int, row: Mapping[str, Any]) -> None:
        self._row = SimpleNamespace(id=identity, **row)

    @property
    def max_tokens(self) -> int:
        return int(self._row.tokens_out)

    def settled(self, usage: Usage) -> StoreWrite:
        return _Settling(self._row, _reserved(self._row).bounded(usage))


class _Settling:
    """See StoreWrite."""

    def __init__(self, row: Any, usage: Usage) -> None:
        self._row = row
        self._usage = usage

    def write(self, connection: sa.Connection) -> None:
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
            _count(connection, self._row, done, _cost(self._row, done))
        elif row.state in ("open", *_GONE):
            _settle(connection, row, done)

    def written(self) -> None:
        """Remove a reservation that no caller waits for."""
