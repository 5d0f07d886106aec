"""The ledger over SQL: reservations and their settlement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import OverBudget
from nanobot.messages import OutboundKind
from nanobot.plugins.budgets.call_limits import limits_of
from nanobot.plugins.budgets.limits import (
    Account,
    BudgetLimit,
    Budgets,
    Level,
    account_of,
    warning,
)
from nanobot.plugins.budgets.reservations import ENDING, CallEstimate, CallOutcome, UsageSum
from nanobot.plugins.budgets.store import settlement, totals
from nanobot.plugins.budgets.store.distance import check_far
from nanobot.plugins.budgets.store.jobs import job_name, job_of
from nanobot.plugins.budgets.store.lost_calls import with_lost
from nanobot.plugins.budgets.store.turns import BudgetTurns
from nanobot.plugins.budgets.store.usage import standing_at
from nanobot.plugins.common.store import usage_tables
from nanobot.plugins.common.store.run_roots import beginning
from nanobot.ports import Clock
from nanobot.providers.base import ModelProfile, Usage
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.entries import Body, ModelCallEntry
from nanobot.session.runs import Ending, Lane, Run
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.prepared import Prepared, Stale
from nanobot.store.database.results import PreparedResult
from nanobot.store.journal import log
from nanobot.store.unit import CallLedger

_c = usage_tables.model_call_costs

_RESERVE = Prepared(sa.insert(_c))
_RESERVE_ASIDE = Prepared(sa.insert(_c).returning(_c.c.id))
_HERE = sa.and_(_c.c.session_key == sa.bindparam("k"), usage_tables.CALL_OPEN)
_OPEN = Prepared(sa.select(_c).where(_HERE, _c.c.run_id == sa.bindparam("i")))
_LEFT = Prepared(sa.select(_c).where(_HERE))
_LAST_AFTER = sa.select(_c).where(_c.c.root == sa.bindparam("i")).order_by(_c.c.id.desc()).limit(1)
_OF_ROOT = Prepared(
    sa.select(sa.func.coalesce(sa.func.sum(_c.c.cost), 0.0)).where(_c.c.root == sa.bindparam("i"))
)


_MOST_NOTED = 10_000


class SqlCallLedger(CallLedger):
    """See store.unit.CallLedger. `budgets`: the limits."""

    def __init__(self, budgets: Budgets, clock: Clock) -> None:
        self.budgets = budgets
        self._clock = clock
        self._turns = BudgetTurns(clock)
        self._far: dict[str, None] = {}
        self._doubted: set[str] = set()
        self._beside: dict[str, set[int]] = {}
        """By run, the calls beside its own that this process makes: several at once, or one before
        the result of another is recorded."""

    def reserve(self, connection: Connection, run: Run, call: ModelCallEntry) -> ModelCallEntry:
        """Check the limits and reserve, atomically: see BudgetTurns.

        An open call of the session was lost in a crash, and counts as reserved. An open call made
        alongside a run that has ended also counts as reserved; it is corrected if its end arrives
        after all.
        """
        price = call.profile.price
        estimate = CallEstimate(tokens_in=call.estimate, tokens_out=call.max_tokens, price=price)
        mine = self._at_once(connection, run, call, estimate)
        mine = mine or self._fitting(connection, run, call.call, call.profile, estimate)
        _RESERVE.execute(connection, mine)
        if mine["tokens_out"] < call.max_tokens:
            call = msgspec.structs.replace(call, max_tokens=mine["tokens_out"])
        return call

    def _at_once(
        self, connection: Connection, run: Run, call: ModelCallEntry, estimate: CallEstimate
    ) -> dict[str, Any] | None:
        """The row of a call that is far from every limit, as the server checks in this transaction
        (see `check_far`). None: look.
        """
        if connection.dialect.name != "postgresql" or run.id in self._doubted:
            self._doubted.discard(run.id)
            return None
        first = beginning(connection, run)
        who = account_of(first, call.profile.label, *job_of(connection, first))
        own = self.budgets.run_limit()
        limits = [*limits_of(self.budgets, who, priced=estimate.price is not None), *own]
        most = estimate.at_most
        bounds = self._turns.bounds(
            limits, estimate.used, lambda limit: self.budgets.warned(limit) - limit.used(most)
        )
        if bounds is None:
            return None
        mine = self._row(run, call.call, first.run_id, who, estimate)
        doubt = Stale(lambda: self._doubted.add(run.id))
        check_far(connection, mine, who, dict(zip(limits, bounds, strict=True)), doubt)
        self._note(run, (), {}, most)
        return mine

    def aside(
        self, connection: Connection, lane: Lane | None, run: Run, call: AuxiliaryCall
    ) -> Reservation:
        if lane is not None:
            log.fence(connection, lane)
        apart = lane is None or call.apart
        price = call.profile.price
        estimate = CallEstimate(tokens_in=call.estimate, tokens_out=call.max_tokens, price=price)
        mine = self._fitting(connection, run, 0, call.profile, estimate, apart=apart)
        row = int(_RESERVE_ASIDE.scalar(connection, mine))
        if not apart:
            self._beside.setdefault(run.id, set()).add(row)
            if len(self._beside) > _MOST_NOTED:
                del self._beside[next(iter(self._beside))]
        return settlement.AuxiliaryReservation(row, mine)

    def retry(self, connection: Connection, lane: Lane | None, run: Run, discarded: Usage) -> None:
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
        tokens = settlement.reserved(row).bounded(discarded)
        failed = CallOutcome(
            state="estimated" if tokens.prompt_tokens else "failed",
            tokens_in=tokens.prompt_tokens,
            tokens_out=tokens.completion_tokens,
        )
        cost = settlement.cost_of(row, failed)
        total = tokens.prompt_tokens + tokens.completion_tokens
        self._check(connection, row, UsageSum(requests=1, tokens=total, cost=cost))
        values = {**row._mapping, "state": failed.state, "requests": 1, "cost": cost}  # noqa: SLF001
        del values["id"]
        values |= {"tokens_in": failed.tokens_in, "tokens_out": failed.tokens_out}
        _RESERVE.execute(connection, values)
        settlement.count(connection, SimpleNamespace(**values), failed, cost)

    def _check(self, connection: Connection, row: Any, more: UsageSum) -> None:
        """Raises OverBudget if a limit has no room for the rest of a call."""
        budgets = self.budgets
        who = msgspec.structs.replace(
            settlement.account(row), job_name=job_name(connection, row.job)
        )
        limits = limits_of(budgets, who, priced=row.price_in is not None)
        own = [] if row.root.startswith(_AFTER) else budgets.run_limit()
        if limits or own:
            used = self._turns.used(
                connection,
                [*limits, *own],
                more,
                lambda: self._used(connection, row.day, who, limits, row.root if own else ""),
            )
            budgets.check([*limits, *own], used, more, budgets.period(self._clock.now()))

    def _used(
        self,
        connection: Connection,
        day: str,
        who: Account,
        limits: Sequence[BudgetLimit],
        root: str,
    ) -> dict[Level, UsageSum]:
        """The usage and reservations of a day where limits are, and of everything that the run
        `root` started.
        """
        used = _standing(connection, day, who, limits) if limits else {}
        if root:
            used["run"] = UsageSum(cost=_OF_ROOT.scalar(connection, i=root) or 0.0)
        return used

    def settle(self, connection: Connection, run: Run, bodies: Sequence[Body]) -> None:
        if any(isinstance(body, ENDING) for body in bodies):  # not of a tool call
            settlement.settle_all(connection, self.open_calls(connection, run), bodies, None)

    def _fitting(
        self,
        connection: Connection,
        run: Run,
        number: int,
        profile: ModelProfile,
        estimate: CallEstimate,
        *,
        apart: bool = False,
    ) -> dict[str, Any]:
        """The row of a call that fits within every limit and is still open. Raises OverBudget."""
        # Calls after a run may happen alongside the calls of the next run.
        left = None if apart else _LEFT.execute(connection, k=run.session_key)
        first = beginning(connection, run)
        budgets, period = self.budgets, self.budgets.period(self._clock.now())
        who = account_of(first, profile.label, *job_of(connection, first))
        limits = limits_of(budgets, who, priced=estimate.price is not None)
        own = [] if apart else budgets.run_limit()

        def used_by_now() -> dict[Level, UsageSum]:
            return self._turns.used(
                connection,
                [*limits, *own],
                estimate.used,
                lambda: self._used(
                    connection, period.day, who, limits, first.run_id if own else ""
                ),
            )

        limited = bool(limits or own)
        used = used_by_now() if limited else {}  # asked for together with what is left
        if left is not None and self._settle_left(connection, left, run, number, first.run_id):
            used = used_by_now() if limited else {}
        if limited:
            try:
                most = budgets.allowed([*limits, *own], used, estimate, period)
            except OverBudget as refused:
                raise with_lost(connection, refused, period.day) from refused
            estimate = msgspec.structs.replace(estimate, tokens_out=most)
        if not apart:
            self._note(run, limits, used, estimate.at_most)
        return self._row(run, number, _after(run) if apart else first.run_id, who, estimate)

    def _settle_left(
        self, connection: Connection, left: PreparedResult, run: Run, number: int, root: str
    ) -> bool:
        alive = self._beside.get(run.id, ())
        return settlement.settle_left(connection, left, alive, run, number, root)

    def _row(
        self, run: Run, number: int, root: str, who: Account, estimate: CallEstimate
    ) -> dict[str, Any]:
        return {
            "run_id": run.id,
            "call": number,
            "root": root,
            "session_key": run.session_key,
            "day": self.budgets.period(self._clock.now()).day,
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
            **settlement.columns_of(estimate.price),
        }

    def _note(
        self,
        run: Run,
        limits: Sequence[BudgetLimit],
        used: Mapping[Level, UsageSum],
        most: UsageSum,
    ) -> None:
        """Note whether limits may be near after this call. If not, its end need not ask."""
        self._far.pop(run.id, None)
        if not any(self.budgets.soft(limit, used[limit.level].plus(most)) for limit in limits):
            self._far[run.id] = None
            if len(self._far) > _MOST_NOTED:
                del self._far[next(iter(self._far))]

    def fold(self, connection: Connection) -> None:
        totals.fold(connection)

    def open_calls(self, connection: Connection, run: Run) -> PreparedResult:
        return _OPEN.execute(connection, k=run.session_key, i=run.id)

    def close(
        self, connection: Connection, run: Run, ending: Ending, calls: PreparedResult | None
    ) -> Ending:
        """Settle all open calls of the run, and add a warning to its answer if limits are near."""
        calls = calls or self.open_calls(connection, run)
        done = settlement.settle_all(connection, calls, ending.bodies, ending.error or "")
        far = run.id in self._far
        self._far.pop(run.id, None)
        self._beside.pop(run.id, None)
        if done is None or ending.error is not None or far or not self.budgets.daily:
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

    def _warnings(self, connection: Connection, row: Any) -> list[str]:
        """Every limit that is near, once per day and chat."""
        budgets = self.budgets
        who = msgspec.structs.replace(
            settlement.account(row), job_name=job_name(connection, row.job)
        )
        period = budgets.period(self._clock.now())
        if row.day != period.day:
            return []
        limits = limits_of(budgets, who, priced=row.price_in is not None)
        used = _standing(connection, period.day, who, limits)
        return [
            warning(limit, used[limit.level], period)
            for limit in limits
            if budgets.soft(limit, used[limit.level])
            and _first_time(connection, period.day, row.chat, limit)
        ]


def _standing(
    connection: Connection, day: str, who: Account, limits: Sequence[BudgetLimit]
) -> dict[Level, UsageSum]:
    return standing_at(connection, day, who, {limit.level for limit in limits})


_AFTER = "after "


def _after(run: Run) -> str:
    """The root of calls that follow a run."""
    return f"{_AFTER}{run.id}"


def _first_time(connection: Connection, day: str, chat: str, limit: BudgetLimit) -> bool:
    table = usage_tables.budget_warnings
    row = {"day": day, "chat": chat, "of": limit.key}
    return insert_ignore(connection, table, row, table.c.day) is not None
