"""What every verb works with: the connection, the moment, and whoever is writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Clock, Ids
from nanobot.providers.base import Usage
from nanobot.session.auxiliary import AuxiliaryCall, NoReservation, Reservation
from nanobot.session.entries import Body, ModelCallEntry
from nanobot.session.runs import Ending, Lane, Run
from nanobot.session.tasks import TaskEnds
from nanobot.store.database.dialect import SERVER_CLOCK
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult

_NOW = Prepared(sa.select(SERVER_CLOCK))


class BudgetLedger(Protocol):
    """Keeps account of model calls, in the transactions of the verbs, under the session's lock."""

    def reserve(self, connection: sa.Connection, run: Run, call: ModelCallEntry) -> ModelCallEntry:
        """The call as it may be made; its longest answer fits every budget. Raises OverBudget."""
        ...

    def aside(
        self, connection: sa.Connection, lane: Lane, run: Run, call: AuxiliaryCall
    ) -> Reservation:
        """A call beside those of a run as it may be made. Raises OverBudget, Fenced."""
        ...

    def apart(self, connection: sa.Connection, run: Run, call: AuxiliaryCall) -> Reservation:
        """A call that belongs to no conversation, on the account that `run` names. No row of that
        run has to exist. Raises OverBudget."""
        ...

    def retry(
        self, connection: sa.Connection, lane: Lane | None, run: Run, discarded: Usage
    ) -> None:
        """One more request of the run's open call may be made; the one before failed, having said
        what is `discarded`. Without a lane it is a call of `apart`. Raises OverBudget, Fenced."""
        ...

    def settle(self, connection: sa.Connection, run: Run, bodies: Sequence[Body]) -> None:
        """Settle what these entries end."""
        ...

    def fold(self, connection: sa.Connection) -> None:
        """Sum up what was counted, where several processes count; from time to time."""
        ...

    def open_calls(self, connection: sa.Connection, run: Run) -> PreparedResult:
        """The run's calls that are open, for `close`, to be looked at later."""
        ...

    def close(
        self, connection: sa.Connection, run: Run, ending: Ending, calls: PreparedResult | None
    ) -> Ending:
        """Settle all that the run has open (None: to be looked up); its answer may come back with
        a warning below it."""
        ...


class NotificationLimiter(Protocol):
    """Holds back what is said unasked beyond its limits, in the transactions that say it."""

    def posted(self, connection: sa.Connection, message: OutboundMessage) -> None:
        """This was just put into the outbox, and nobody asked for it."""
        ...

    def release(
        self, connection: sa.Connection, after: Address | None
    ) -> tuple[list[Address], Address | None]:
        """Send some of what was held back, as far as it may be sent now, from the first chat on or
        after one; returns where to, and where to go on (None: that was all)."""
        ...


class EndHook(Protocol):
    """Takes part in the transactions that end runs."""

    def ends(self, connection: sa.Connection, run: Run, ending: Ending) -> None:
        """The run ends so; what it answers is not settled yet."""
        ...


class Hold:
    """A caller's hold of a lane, from its call on until it lets go."""

    __slots__ = ("_lanes", "ended", "lane")

    def __init__(self, lanes: HeldLanes) -> None:
        self.lane: Lane | None = None
        self.ended = False
        self._lanes = lanes

    def release(self) -> None:
        """The caller lets go of what they took, if anything."""
        if self.lane is not None:
            self._lanes.let_go(self.lane)


class HeldLanes:
    """The lanes that somebody in this process has in hand.

    A lane that is ours by its row and not in here is free: whoever claimed it was cancelled before
    they heard of it, or failed, or the commit was reported as a failure. `take` is called on the
    store's threads, all else on the loop; whichever comes last, a hold that has ended leaves
    nothing behind.
    """

    def __init__(self) -> None:
        self._holds: dict[str, Hold] = {}

    @contextmanager
    def taking(self) -> Iterator[Hold]:
        """Around the verb that takes a lane: one that fails, or is given up, holds nothing."""
        hold = Hold(self)
        try:
            yield hold
        except BaseException:
            hold.ended = True
            self._drop(hold)
            raise

    def take(self, hold: Hold, lane: Lane) -> None:
        """The lane is in that caller's hands, if they still wait for it."""
        hold.lane = lane
        self._holds[lane.session_key] = hold
        if hold.ended:
            self._drop(hold)

    def let_go(self, lane: Lane) -> None:
        """Nobody here has it any more."""
        hold = self._holds.get(lane.session_key)
        if hold is not None and hold.lane == lane:
            self._drop(hold)

    def has(self, session_key: str, token: int) -> bool:
        """Whether somebody here has the lane with that token."""
        hold = self._holds.get(session_key)
        return hold is not None and hold.lane == Lane(session_key, token)

    def drives(self, session_key: str) -> bool:
        """Whether somebody here has the session's lane."""
        return session_key in self._holds

    def all(self) -> list[Lane]:
        """Every lane that somebody here has."""
        return [hold.lane for hold in list(self._holds.values()) if hold.lane is not None]

    def _drop(self, hold: Hold) -> None:
        lane = hold.lane
        if lane is not None and self._holds.get(lane.session_key) is hold:
            del self._holds[lane.session_key]


class StoreHooks(msgspec.Struct, frozen=True, kw_only=True):
    """What takes part in the transactions of the verbs. Without a `ledger` nothing is counted and
    nothing limited, without `tasks` no background run begins, without `notifications` nothing that
    is said unasked is held back. `ends` take part where a run ends."""

    ledger: BudgetLedger | None = None
    tasks: TaskEnds | None = None
    notifications: NotificationLimiter | None = None
    ends: tuple[EndHook, ...] = ()


class StoreContext:
    """Who writes: one process (or one worker) with its clock and its source of ids.

    `lease` None means that the process lock is the lease: a lane of ours never expires, a lane of
    anybody else is dead. Otherwise leases last that many seconds by the database's clock.
    `hooks` make what takes part in its transactions.
    """

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        owner: str,
        lease: float | None = None,
        hooks: Callable[[StoreContext], StoreHooks] | None = None,
    ) -> None:
        self.clock = clock
        self.ids = ids
        self.owner = owner
        self.lease = lease
        self.held = HeldLanes()
        self.chats: set[str] = set()
        """The chats that this process took by lease, by their names there."""
        self.on_abandoned: list[Callable[[], None]] = []
        """Called when the caller of a writing verb was cancelled; see Journal.on_abandoned."""
        parts = StoreHooks() if hooks is None else hooks(self)
        self.ledger = parts.ledger
        self.tasks = parts.tasks
        self.notifications = parts.notifications
        self.ends = parts.ends


def start_auxiliary(
    connection: sa.Connection, writer: StoreContext, lane: Lane, run: Run, call: AuxiliaryCall
) -> Reservation:
    if writer.ledger is None:
        return NoReservation(call.max_tokens)
    return writer.ledger.aside(connection, lane, run, call)


def start_retry(
    connection: sa.Connection, writer: StoreContext, lane: Lane, run: Run, discarded: Usage
) -> None:
    if writer.ledger is not None:
        writer.ledger.retry(connection, lane, run, discarded)


def store_now(connection: sa.Connection, writer: StoreContext) -> float:
    """The time that leases are measured by: PostgreSQL's own where several processes share it."""
    if writer.lease is None:
        return writer.clock.now()
    return float(_NOW.scalar(connection))
