"""The context of every verb: the connection, the time, and the writer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Clock, Ids
from nanobot.providers.base import Usage
from nanobot.session.approvals import Approval, ParkResult
from nanobot.session.auxiliary import AuxiliaryCall, NoReservation, Reservation
from nanobot.session.entries import Body, ModelCallEntry
from nanobot.session.outbox import OutboundRow
from nanobot.session.runs import Ending, Lane, Run
from nanobot.store.database.dialect import SERVER_CLOCK
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult

_NOW = Prepared(sa.select(SERVER_CLOCK))


class CallLedger(Protocol):
    """Keeps account of model calls, in the transactions of the verbs, under the session's lock."""

    def reserve(self, connection: sa.Connection, run: Run, call: ModelCallEntry) -> ModelCallEntry:
        """The call with its allowance: its longest answer fits every budget. Raises OverBudget."""
        ...

    def aside(
        self, connection: sa.Connection, lane: Lane | None, run: Run, call: AuxiliaryCall
    ) -> Reservation:
        """A call alongside those of a run, with its allowance. Without a lane, it is outside any
        conversation, and no row of the run has to exist. Raises OverBudget, Fenced.
        """
        ...

    def retry(
        self, connection: sa.Connection, lane: Lane | None, run: Run, discarded: Usage
    ) -> None:
        """Allow one more request of the run's open call. The previous request failed after it had
        produced what is in `discarded`. Raises OverBudget, Fenced.
        """
        ...

    def settle(self, connection: sa.Connection, run: Run, bodies: Sequence[Body]) -> None:
        """Settle the calls that these entries end."""
        ...

    def fold(self, connection: sa.Connection) -> None:
        """Sum up the counted amounts, if several processes count; called from time to time."""
        ...

    def open_calls(self, connection: sa.Connection, run: Run) -> PreparedResult:
        """The run's open calls, to pass to `close` later."""
        ...

    def close(
        self, connection: sa.Connection, run: Run, ending: Ending, calls: PreparedResult | None
    ) -> Ending:
        """Settle all open calls of the run (None: look them up). Returns the answer, with a warning
        added if necessary.
        """
        ...


class NotificationLimiter(Protocol):
    """Holds back unrequested messages beyond their limits, in the transactions that queue them."""

    def posted(self, connection: sa.Connection, message: OutboundMessage) -> None:
        """This unrequested message was just put into the outbox."""
        ...

    def release(
        self, connection: sa.Connection, after: Address | None
    ) -> tuple[list[Address], Address | None]:
        """Send some held-back messages, as far as limits allow, from the given chat on. Returns the
        chats they go to, and where to continue (None: that was all).
        """
        ...


class TaskEnds(Protocol):
    """How background runs are delayed and ended, within transactions of the store."""

    def waits(self, connection: sa.Connection, run: Run) -> float:
        """Seconds until a queued run may begin."""
        ...

    def stop_below(
        self, connection: sa.Connection, session_key: str, sender_id: str | None, by: str
    ) -> None:
        """End the live runs started from a session (by that sender), and all runs they started."""
        ...

    def report(self, connection: sa.Connection, run: Run, ending: Ending) -> None:
        """Tell the parent that the run ends like this."""
        ...


class HumanWaits(Protocol):
    """How runs wait for people and continue, within transactions of the store."""

    def park(
        self, connection: sa.Connection, lane: Lane, run: Run, approval: Approval
    ) -> ParkResult:
        """Ask people about a call, and free the lane; see Journal.park."""
        ...

    def waits(self, connection: sa.Connection, run: Run) -> float:
        """Seconds that a parked run still waits if nothing happens."""
        ...

    def go_on(self, connection: sa.Connection, lane: Lane, run: Run) -> None:
        """Resume a parked run whose wait has ended, and log what ended it."""
        ...


class EndHook(Protocol):
    """Participates in the transactions that end runs."""

    def ends(self, connection: sa.Connection, run: Run, ending: Ending) -> None:
        """The run ends in this way; its answer is not settled yet."""
        ...


class ArrivalHook(Protocol):
    """Participates in the transactions that record that a message has arrived in its chat."""

    def arrives(self, connection: sa.Connection, row: OutboundRow) -> None:
        """All parts of the message were sent."""
        ...


class EraseHook(Protocol):
    """Participates in the transactions that begin to remove conversations."""

    def erases(self, connection: sa.Connection, session_key: str) -> None:
        """The conversation is about to be removed. Its runs and entries are still there, unless an
        earlier call failed."""
        ...


class Head(NamedTuple):
    """The end of a session's log, as the holder of its lane left it."""

    head_seq: int
    head_hash: bytes


class Hold:
    """A caller's hold on a lane, from its call until it releases the lane."""

    __slots__ = ("_lanes", "ended", "head", "lane")

    def __init__(self, lanes: HeldLanes) -> None:
        self.lane: Lane | None = None
        self.head: Head | None = None
        self.ended = False
        self._lanes = lanes

    def release(self) -> None:
        """Release what the caller took, if anything."""
        if self.lane is not None:
            self._lanes.let_go(self.lane)


class HeldLanes:
    """The lanes that callers in this process hold.

    A lane that is ours by its row but missing here is free: its claimant was cancelled before it
    received the result, or failed, or the commit was reported as failed. `take` is called on the
    store's threads, everything else on the event loop. In whatever order they come, a hold that has
    ended leaves nothing behind.
    """

    def __init__(self) -> None:
        self._holds: dict[str, Hold] = {}

    @contextmanager
    def taking(self) -> Iterator[Hold]:
        """Wraps the verb that takes a lane: a call that fails or is cancelled holds nothing."""
        hold = Hold(self)
        try:
            yield hold
        except BaseException:
            hold.ended = True
            self._drop(hold)
            raise

    def take(self, hold: Hold, lane: Lane) -> None:
        """Record that the caller holds the lane, if it is still waiting for it."""
        hold.lane = lane
        self._holds[lane.session_key] = hold
        if hold.ended:
            self._drop(hold)

    def let_go(self, lane: Lane) -> None:
        """No caller here holds it any more."""
        hold = self._holds.get(lane.session_key)
        if hold is not None and hold.lane == lane:
            self._drop(hold)

    def has(self, session_key: str, token: int) -> bool:
        """Whether a caller here holds the lane with that token."""
        hold = self._holds.get(session_key)
        return hold is not None and hold.lane == Lane(session_key, token)

    def head(self, lane: Lane) -> Head | None:
        """The head noted for a lane where processes share the store. It may have moved on."""
        hold = self._holds.get(lane.session_key)
        return hold.head if hold is not None and hold.lane == lane else None

    def note(self, lane: Lane, head: Head | None) -> None:
        """Note the head of the lane's log, if a caller here holds the lane; None: unknown."""
        hold = self._holds.get(lane.session_key)
        if hold is not None and hold.lane == lane:
            hold.head = head

    def drives(self, session_key: str) -> bool:
        """Whether a caller here holds the session's lane."""
        return session_key in self._holds

    def all(self) -> list[Lane]:
        """Every lane that callers here hold."""
        return [hold.lane for hold in list(self._holds.values()) if hold.lane is not None]

    def _drop(self, hold: Hold) -> None:
        lane = hold.lane
        if lane is not None and self._holds.get(lane.session_key) is hold:
            del self._holds[lane.session_key]


class StoreHooks(msgspec.Struct, frozen=True, kw_only=True):
    """The participants in the transactions of the verbs."""

    ledger: CallLedger | None = None
    """Without it nothing is counted or limited."""
    tasks: TaskEnds | None = None
    """Without it no background run can start."""
    waits: HumanWaits | None = None
    """Without it no person is asked."""
    notifications: NotificationLimiter | None = None
    """Without it unrequested messages are not held back."""
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

    def fence(self, connection: sa.Connection, address: Address) -> None:
        """Renew the claim and keep it until the transaction ends. Raises Fenced."""

    def renewed(self, connection: sa.Connection, address: Address) -> Callable[[], bool]:
        """As `fence`, but the returned function, called after the queries ran, tells the result."""
        return lambda: True

    def others(
        self, connection: sa.Connection, addresses: Sequence[Address]
    ) -> Collection[Address]:
        """The chats among these that other processes have."""
        return ()


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
        self.owners: Callable[[str], sa.ColumnElement[bool] | None] = lambda _: None
        """Whether senders of messages on a channel are owners now; None: if they spoke as one."""
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
    """The time by which leases are measured: PostgreSQL's clock if several processes share it."""
    if writer.lease is None:
        return writer.clock.now()
    return float(_NOW.scalar(connection))
