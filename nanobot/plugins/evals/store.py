"""The store access of evals: the log that a case is made from, and the account for their calls."""

from __future__ import annotations

from nanobot.messages import Address, Origin, Role
from nanobot.providers.base import Usage
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.entries import Entry
from nanobot.session.runs import Run
from nanobot.session.states import RunKind, RunState
from nanobot.session.store_write import StoreWrite
from nanobot.store.database.connection import Connection
from nanobot.store.journal import log
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

CHANNEL = "eval"


def account(evaluation: str, by: str, now: float, *, nightly: bool = False) -> Run:
    """The payer of an evaluation's calls: the person who asked for it, or the job `event:evals` for
    the nightly one. This run has no row in the store.
    """
    return Run(
        id=f"eval-{evaluation}",
        session_key=f"{CHANNEL}:{evaluation}",
        kind=RunKind.TASK,
        state=RunState.MODEL_RUNNING,
        origin=Origin.EVENT if nightly else Origin.USER,
        address=Address(CHANNEL, "evals"),
        sender_id="evals" if nightly else by,
        role=Role.OWNER,
        reply_to=None,
        first_seq=0,
        attempts=1,
        created_at=now,
    )


class SqlEvals(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    @transaction()
    def window(
        self, connection: Connection, session: str, first: int, end: int
    ) -> tuple[Entry, ...]:
        """Entries of a log from `first` up to, but not including, `end`."""
        return log.read(connection, session, first, end)

    @transaction("eval_reserve")
    def reserve(self, unit: Unit, run: Run, call: AuxiliaryCall) -> Reservation:
        """Reserve the budget for a call. Raises OverBudget."""
        return unit.writer.ledger.aside(unit, None, run, call)

    @transaction("eval_retry")
    def retry(self, unit: Unit, run: Run, discarded: Usage) -> None:
        """Reserve the budget for one more request of a call. Raises OverBudget."""
        unit.writer.ledger.retry(unit, None, run, discarded)

    @transaction("eval_settle")
    def settle(self, connection: Connection, call: StoreWrite) -> None:
        """Settle a call that ended."""
        call.write(connection)


class EvalAccount:
    """See attempt.Settling: the calls of one attempt, made one after another."""

    def __init__(self, store: SqlEvals, run: Run) -> None:
        self._store = store
        self._run = run

    async def start_auxiliary(self, call: AuxiliaryCall) -> Reservation:
        return await self._store.reserve(self._run, call)

    async def start_retry(self, discarded: Usage) -> None:
        await self._store.retry(self._run, discarded)

    async def settle(self, call: StoreWrite) -> None:
        await self._store.settle(call)
