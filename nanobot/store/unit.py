"""A unit of work, its writer, and who else takes part in its transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ports import Clock, Ids
from nanobot.providers.base import Usage
from nanobot.session.approvals import Approval, ParkResult
from nanobot.session.auxiliary import AuxiliaryCall, NoReservation, Reservation
from nanobot.session.entries import Body, ModelCallEntry
from nanobot.session.keys import TASKS
from nanobot.session.outbox import OutboundRow
from nanobot.session.runs import Ending, Lane, Run
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import SERVER_CLOCK
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult
from nanobot.store.held_lanes import HeldLanes

_NOW = Prepared(sa.select(SERVER_CLOCK))


class CallLedger:
    """Keeps account of model calls, in the transactions of the verbs, under the session's lock.

    The methods here, as those of the ports below, do what happens where no plugin has one."""

    def reserve(self, unit: Unit, run: Run, call: ModelCallEntry) -> ModelCallEntry:
        """The call with its allowance: its longest answer fits every budget. Raises OverBudget."""
        return call

    def aside(self, unit: Unit, lane: Lane | None, run: Run, call: AuxiliaryCall) -> Reservation:
        """A call alongside those of a run, with its allowance. Without a lane, it is outside any
        conversation, and no row of the run has to exist. Raises OverBudget, Fenced.
        """
        return NoReservation(call.max_tokens)

    def retry(self, unit: Unit, lane: Lane | None, run: Run, discarded: Usage) -> None:
        """Allow one more request of the run's open call. The previous request failed after it had
        produced what is in `discarded`. Raises OverBudget, Fenced.
        """
        return

    def settle(self, unit: Unit, run: Run, bodies: Sequence[Body]) -> None:
        """Settle the calls that these entries end."""
        return

    def fold(self, unit: Unit) -> None:
        """Sum up the counted amounts, if several processes count; called from time to time."""
        return

    def open_calls(self, unit: Unit, run: Run) -> PreparedResult:
        """The run's open calls, to pass to `close` later."""
        return PreparedResult([], 0)

    def close(self, unit: Unit, run: Run, ending: Ending, calls: PreparedResult | None) -> Ending:
        """Settle all open calls of the run (None: look them up). Returns the answer, with a warning
        added if necessary.
        """
        return ending


class NotificationLimiter:
    """Holds back unrequested messages beyond their limits, in the transactions that queue them."""

    def posted(self, unit: Unit, message: OutboundMessage) -> None:
        """This unrequested message was just put into the outbox."""
        return

    def release(self, unit: Unit, after: Address | None) -> tuple[list[Address], Address | None]:
        """Send some held-back messages, as far as limits allow, from the given chat on. Returns the
        chats they go to, and where to continue (None: that was all).
        """
        return [], None


class TaskEnds:
    """How background runs are delayed and ended, within transactions of the store. Without a plugin
    they wait: nothing could report how they end."""

    def waits(self, unit: Unit, run: Run) -> float:
        """Seconds until a run may begin, or go on."""
        return 60.0 if run.session_key == TASKS.of(run.id) else 0.0

    def stop_below(self, unit: Unit, session_key: str, sender_id: str | None, by: str) -> None:
        """End the live runs started from a session (by that sender), and all runs they started."""
        return

    def report(self, unit: Unit, run: Run, ending: Ending) -> None:
        """Tell the parent that the run ends like this."""
        return


class HumanWaits(Protocol):
    """How runs wait for people and continue, within transactions of the store."""

    def park(self, unit: Unit, lane: Lane, run: Run, approval: Approval) -> ParkResult:
        """Ask people about a call, and free the lane; see Journal.park."""

    def waits(self, unit: Unit, run: Run) -> float:
        """Seconds that a parked run still waits if nothing happens."""

    def go_on(self, unit: Unit, lane: Lane, run: Run) -> None:
        """Resume a parked run whose wait has ended, and log what ended it."""

    def approved(self, unit: Unit, message: InboundMessage) -> list[Body]:
        """The approved call that the run of such a message begins with, as if the model had just
        made it."""


class EndHook(Protocol):
    """Participates in the transactions that end runs."""

    def ends(self, unit: Unit, run: Run, ending: Ending) -> None:
        """The run ends in this way; its answer is not settled yet."""


class ArrivalHook(Protocol):
    """Participates in the transactions that record that a message has arrived in its chat."""

    def arrives(self, unit: Unit, row: OutboundRow) -> None:
        """All parts of the message were sent."""


class EraseHook(Protocol):
    """Participates in the transactions that begin to remove conversations."""

    def erases(self, unit: Unit, session_key: str) -> bool | None:
        """The conversation is about to be removed. Its runs and entries are still there, unless an
        earlier call failed. False: this call failed."""


class StoreHooks(msgspec.Struct, frozen=True, kw_only=True):
    """The participants in the transactions of the verbs."""

    ledger: CallLedger = CallLedger()
    tasks: TaskEnds = TaskEnds()
    waits: HumanWaits | None = None
    """Without it no person is asked."""
    notifications: NotificationLimiter = NotificationLimiter()
    ends: tuple[EndHook, ...] = ()
    """They take part when a run ends."""
    arrives: tuple[ArrivalHook, ...] = ()
    """They take part when a message was sent."""
    erases: tuple[EraseHook, ...] = ()
    """They take part when a conversation is removed."""


class ChatClaims:
    """The chats of a bot that this process sends to: all of them, because it shares the bot with no
    other. Where several do, each verb of a delivery renews the claim in its transaction and fails
    without it, so a process that lost a chat writes nothing about its messages.
    """

    def fence(self, unit: Unit, address: Address) -> None:
        """Renew the claim and keep it until the transaction ends. Raises Fenced."""

    def renewed(self, unit: Unit, address: Address) -> Callable[[], bool]:
        """As `fence`, but the returned function, called after the queries ran, tells the result."""
        return lambda: True

    def others(self, unit: Unit, addresses: Sequence[Address]) -> Collection[Address]:
        """The chats among these that other processes have."""
        return ()


class ChannelOwners(msgspec.Struct, frozen=True):
    """The owners on a channel: by its configuration, and if `by_pairing`, who was let in as one."""

    ids: tuple[str, ...]
    by_pairing: bool


class StoreContext:
    """The writer: one process (or one worker) with its clock and its source of ids.

    `lease` None means that the process lock is the lease: our lanes never expire, and the lanes of
    any other writer are dead. Otherwise leases last this many seconds by the database's clock.
    `hooks` create the participants in its transactions.
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
        self.chats = ChatClaims()
        self.owners: Mapping[str, ChannelOwners] = {}
        """By channel. On any other channel, owners are those who spoke as one."""
        self.on_abandoned: list[Callable[[], None]] = []
        """Called when the caller of a writing verb was cancelled; see Journal.on_abandoned."""
        self.units = 0
        """Units of work that wait for the store, or are at work."""
        parts = StoreHooks() if hooks is None else hooks(self)
        self.ledger = parts.ledger
        self.tasks = parts.tasks
        self.waits = parts.waits
        self.notifications = parts.notifications
        self.ends = parts.ends
        self.arrives = parts.arrives
        self.erases = parts.erases


class Unit:
    """A unit of work: one transaction of a writer. It executes statements as its connection does,
    and has the writer's time, ids and participants.
    """

    def __init__(self, connection: Connection, writer: StoreContext) -> None:
        self._connection = connection
        self.dialect = connection.dialect
        self.execute = connection.execute
        self.scalar = connection.scalar
        self.scalars = connection.scalars
        self.exec_driver_sql = connection.exec_driver_sql
        self.writer = writer

    @property
    def now(self) -> float:
        """The writer's time."""
        return self.writer.clock.now()

    @property
    def info(self) -> dict[Any, Any]:
        return self._connection.info

    @property
    def connection(self) -> sa.PoolProxiedConnection:
        return self._connection.connection

    if not TYPE_CHECKING:  # hooks of packages may ask more of what was SQLAlchemy's connection

        def __getattr__(self, name):
            return getattr(self._connection, name)


def start_auxiliary(unit: Unit, lane: Lane, run: Run, call: AuxiliaryCall) -> Reservation:
    return unit.writer.ledger.aside(unit, lane, run, call)


def start_retry(unit: Unit, lane: Lane, run: Run, discarded: Usage) -> None:
    unit.writer.ledger.retry(unit, lane, run, discarded)


def store_now(unit: Unit) -> float:
    """The time by which leases are measured: PostgreSQL's clock if several processes share it."""
    if unit.writer.lease is None:
        return unit.now
    return float(_NOW.scalar(unit))
