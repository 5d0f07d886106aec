"""The Bus: accepted messages are in the journal, ready lanes in a queue, and events go to watchers.

The queues here hold wake-ups only. Everything that must not be lost is in the journal, and
`recover` finds it again.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec

from nanobot.bus.peers import Peers
from nanobot.bus.wake_ups import Due, Turn, WakeUps
from nanobot.messages import Address, Attachment, EventKind, OutboundMessage, Role, RunEvent
from nanobot.session.inbox import Admission, Admitted, Busy
from nanobot.session.journal import Journal
from nanobot.session.outbox import Departure
from nanobot.session.runs import Claim, NewRun, Ready, Run, kind_for
from nanobot.session.states import RunKind

_WATCH_LIMIT = 1_000
_NUMBERED_RUNS = 4_096


class Subscription:
    """One watcher's bounded queue of the events of a session (None: of all).

    A watcher that is too slow loses its oldest events and never slows a run; `lost` counts them.
    `elsewhere`: includes runs that another process drives.
    """

    def __init__(
        self, session_key: str | None, kinds: frozenset[EventKind], *, elsewhere: bool = True
    ) -> None:
        self.session_key = session_key
        self.elsewhere = elsewhere
        self.lost = 0
        self.kinds = kinds
        self._events: deque[RunEvent] = deque()
        self._some = asyncio.Event()
        self._ended = False
        self._error: BaseException | None = None

    def end(self, error: BaseException | None = None) -> None:
        """End the subscription. Reading then stops, with `error` if one is given."""
        self._ended, self._error = True, self._error or error
        self._some.set()

    def offer(self, event: RunEvent) -> None:
        """Never blocks."""
        if event.kind not in self.kinds:
            return
        if len(self._events) == _WATCH_LIMIT:
            self._events.popleft()
            self.lost += 1
        self._events.append(event)
        self._some.set()

    async def __aiter__(self) -> AsyncIterator[RunEvent]:
        while True:
            while self._events:
                yield self._events.popleft()
            if self._error is not None:
                raise self._error
            if self._ended:
                return
            self._some.clear()
            await self._some.wait()


Arriving: TypeAlias = Callable[[Admission], Awaitable[Admission]]
Beginning: TypeAlias = Callable[[str, RunKind], NewRun | None]
Departing: TypeAlias = Callable[[OutboundMessage], Departure | None]
Outgoing: TypeAlias = Callable[[OutboundMessage], Awaitable[OutboundMessage]]


class Bus:
    """Connects channels and the agent over a Journal. `peers` tells other processes what concerns
    them. `drives` False: only those drive lanes."""

    def __init__(self, journal: Journal, lane_limit: int = 50, busy: Busy | None = None) -> None:
        self.journal = journal
        self.busy = busy or Busy()
        self.peers = Peers()
        self.drives = True
        self.lane_limit = lane_limit
        self.arrivals: list[Arriving] = []
        """Change messages before they are admitted."""
        self.outgoing: list[Outgoing] = []
        """Change messages before they are rendered for their chat."""
        self._lanes = {kind: WakeUps() for kind in RunKind}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._mail: dict[str, int] = {}
        self._files: dict[str, asyncio.Event] = {}
        self._owed: dict[str, WakeUps] = {}
        self._watchers: dict[str | None, list[Subscription]] = {}
        self._numbers: dict[str, int] = {}
        self.departures: dict[str, Departing] = {}
        """Asked by channel for the departures of its messages."""
        self.on_slowed: dict[str, Callable[[float], None]] = {}
        """Called by channel when another process was told to slow down its bot."""
        self._on_stopped: list[Callable[[Run], None]] = []
        self._claims: dict[str, Claim] = {}
        self.begins: Beginning | None = None
        """Asked whether a worker could begin a lane's next run now."""
        self.abandoned = asyncio.Event()
        """Set when a transaction may have been committed whose follow-up here was cancelled."""
        journal.on_abandoned(self.abandoned.set)

    # Inbound

    async def admit(
        self, channel: str, admissions: Sequence[Admission], cursor: str | None = None
    ) -> list[Admitted]:
        """Commit messages with the channel's cursor, then wake the lanes concerned. A message waits
        for its files if the channel's files are fetched (see `files_came`)."""
        for change in self.arrivals:
            admissions = [await change(admission) for admission in admissions]
        if channel in self._files:
            admissions = [_with_files(admission) for admission in admissions]
        done = await self._admitted(channel, admissions, cursor)
        for admission, admitted in zip(admissions, done, strict=True):
            if admission.awaiting_files:
                self.files_came(channel).set()
            self._follow(admission, admitted)
        return done

    def _follow(self, admission: Admission, admitted: Admitted) -> None:
        """What follows the commit of a message."""
        key, kind = admitted.session_key, admitted.kind
        if admitted.stopped is not None:
            self.stopped(admitted.stopped)
        if admitted.owes is not None:
            self.owed(admitted.owes)
            return
        if not admitted.fresh:  # an earlier process may have died before this step
            self.owed(admission.message.address)
        if admission.performing:
            return
        if admitted.fresh and admitted.claim is None:
            self.mail(key, admitted.inbound_id)
            if self.peers.woken(key, kind, admitted.inbound_id, admitted.held):
                return
        turn = Turn.OWNER if admission.role is Role.OWNER else Turn.NEW
        self.wake(key, kind, admitted.held, turn)

    async def _admitted(
        self, channel: str, admissions: Sequence[Admission], cursor: str | None
    ) -> list[Admitted]:
        limit, busy, new = self.lane_limit, self.busy, self._new_run(admissions)
        if new is None:
            return await self.journal.admit(channel, admissions, cursor, limit, busy)
        (only,) = admissions
        admitted = await self.journal.admit_claiming(channel, only, cursor, limit, busy, new)
        if admitted.claim is not None:
            self._claims[admitted.session_key] = admitted.claim
        return [admitted]

    def _new_run(self, admissions: Sequence[Admission]) -> NewRun | None:
        """The run of a message, if it may begin with the admission."""
        if self.begins is None or len(admissions) != 1:
            return None
        (only,) = admissions
        if not only.for_run or only.awaiting_files:
            return None
        key, kind = only.session_key, kind_for(only.message.origin)
        if self._lanes[kind].waiting or not self.peers.leaves(key):
            return None
        return self.begins(key, kind)

    def claimed(self, session_key: str) -> Claim | None:
        """The claim of a woken lane, if it came with the admission of its message. The caller holds
        the lane from now on."""
        return self._claims.pop(session_key, None)

    def all_claimed(self) -> list[Claim]:
        """Like `claimed`, of all lanes."""
        claims, self._claims = list(self._claims.values()), {}
        return claims

    def files_came(self, channel: str) -> asyncio.Event:
        """Set whenever a message with files to fetch was admitted. Calling this declares that the
        caller fetches the channel's files from now on."""
        return self._files.setdefault(channel, asyncio.Event())

    async def fetched(self, inbound_id: int, attachments: Sequence[Attachment]) -> None:
        """Commit the result of fetching a message's files, then wake its lane."""
        ready = await self.journal.fetched(inbound_id, attachments)
        if ready is not None:
            self.mail(ready[0], inbound_id)
            self.wake(*ready)
            self.peers.woken(*ready, inbound_id, 0.0)

    async def recover(self) -> list[Ready]:
        """Wake every lane with something to do; returns them."""
        lanes = await self.journal.ready()
        for lane in lanes:
            turn = Turn.OWNER if lane.owner else Turn.BACKLOG
            self.wake(lane.session_key, lane.kind, lane.held, turn)
        return lanes

    async def follow_up(self) -> None:
        """Do the follow-ups of cancelled callers: wake everyone who fetches files or delivers
        messages in the journal. `recover` finds lanes."""
        self.abandoned.clear()
        for came in self._files.values():
            came.set()
        for channel in tuple(self._owed):
            for address in await self.journal.owed_chats(channel):
                self.deliver(address)

    def wake(
        self, session_key: str, kind: RunKind, held: float = 0.0, turn: Turn = Turn.NEW
    ) -> None:
        """A session has something to do, in `held` seconds."""
        if not self.drives:
            self.peers.woken(session_key, kind, 0, held)
            return
        if held <= 0:
            self._lanes[kind].put(session_key, turn)
            return
        loop, timer = asyncio.get_running_loop(), self._timers.get(session_key)
        due = Due(loop.time() + held, time.time() + held)
        if timer is None or not loop.time() < timer.when() <= due.looked_at(loop):
            if timer is not None:
                timer.cancel()
            self._look_at(session_key, kind, due, turn)

    def _look_at(self, session_key: str, kind: RunKind, due: Due, turn: Turn) -> None:
        loop = asyncio.get_running_loop()
        if due.over(loop):
            self._lanes[kind].put(session_key, turn)
        else:
            at = due.looked_at(loop)
            timer = loop.call_at(at, self._look_at, session_key, kind, due, turn)
            self._timers[session_key] = timer

    async def next_lane(self, kind: RunKind) -> str:
        """The next session with something to do. The queues take turns."""
        return await self._lanes[kind].get()

    def mail_came(self, session_key: str) -> bool:
        """Whether a message was admitted to the session since the last call."""
        return self._mail.pop(session_key, None) is not None

    def mail(self, session_key: str, inbound_id: int) -> None:
        """A message waits in the session."""
        if self.drives:
            self._mail[session_key] = inbound_id

    def mail_waits(self, session_key: str) -> None:
        """Make the session's run look for waiting messages."""
        self._mail.setdefault(session_key, 0)

    def mail_taken(self, session_key: str, inbound_id: int) -> None:
        """A run has taken everything up to this message and need not look for it."""
        if self._mail.get(session_key, inbound_id + 1) <= inbound_id:
            del self._mail[session_key]

    def stopped(self, run: Run) -> None:
        """A run was ended from outside its driver. The driver must stop at once, and the part of
        the answer that its chat has seen is closed."""
        self.owed(run.address)
        self.reported(run)
        self.peers.stopped(run)
        self.let_go(run)

    def let_go(self, run: Run) -> None:
        """Like `stopped`, but only within this process."""
        for call in self._on_stopped:
            call(run)

    def reported(self, run: Run) -> None:
        """A run has ended, and its end was reported to its parent's session."""
        if run.parent_session is not None:
            if self.drives:
                self.mail_waits(run.parent_session)
            self.wake(run.parent_session, RunKind.TASK)
            self.peers.woken(run.parent_session, RunKind.TASK, 0, 0.0)

    def on_stopped(self, call: Callable[[Run], None]) -> None:
        """Call `call` for every run that an order stopped, after the commit."""
        self._on_stopped.append(call)

    # Outbound

    def owed(self, address: Address) -> None:
        self.deliver(address)
        self.peers.owed(address)

    def deliver(self, address: Address) -> None:
        """Like `owed`, on request of a peer."""
        if address.channel in self._owed:
            self._owed[address.channel].put(address.chat_id)

    def departure(self, message: OutboundMessage) -> Departure | None:
        """The departure of a message that is about to be stored. None: store it, then call
        `owed`."""
        call = self.departures.get(message.address.channel)
        return None if call is None else call(message)

    def slow_down(self, channel: str, seconds: float) -> None:
        """A peer was told to slow down; see Peers.slowed."""
        if channel in self.on_slowed:
            self.on_slowed[channel](seconds)

    def owed_chats(self, channel: str) -> WakeUps:
        """The channel's chats that got a message since the first call; the journal has earlier
        ones."""
        return self._owed.setdefault(channel, WakeUps())

    # Events

    def subscribe(
        self, session_key: str | None, kinds: frozenset[EventKind] = frozenset(EventKind)
    ) -> Subscription:
        """Watch from now on. Call `unsubscribe` when done."""
        subscription = Subscription(session_key, kinds)
        self.watch(subscription)
        return subscription

    def watch(self, subscription: Subscription) -> None:
        """Like `subscribe`, for a Subscription of a subclass."""
        watching = self._watchers.setdefault(subscription.session_key, [])
        watching.append(subscription)
        if subscription.session_key is not None and len(watching) == 1:
            self.peers.watching(subscription.session_key, begins=True)

    def unsubscribe(self, subscription: Subscription) -> None:
        watching = self._watchers[subscription.session_key]
        watching.remove(subscription)
        if not watching:
            del self._watchers[subscription.session_key]
            if subscription.session_key is not None:
                self.peers.watching(subscription.session_key, begins=False)

    def watched(self, session_key: str) -> bool:
        """Whether a watcher would see events of single tokens."""
        return session_key in self._watchers or self.peers.watched(session_key)

    def sessions_watched(self) -> list[str]:
        """The sessions with a watcher in this process."""
        return [key for key in self._watchers if key is not None]

    def next_seq(self, run_id: str) -> int:
        """The number of a run's next event. It continues after a run waited, unless thousands of
        other runs sent events meanwhile."""
        number = self._numbers.pop(run_id, 0) + 1
        self._numbers[run_id] = number
        if len(self._numbers) > _NUMBERED_RUNS:
            del self._numbers[next(iter(self._numbers))]
        return number

    def emit(self, event: RunEvent, *, elsewhere: bool = False) -> None:
        """Send an event to watchers. `elsewhere`: another process drives the run."""
        for key in (event.session_key, None):
            for watcher in self._watchers.get(key, ()):
                if watcher.elsewhere or not elsewhere:
                    watcher.offer(event)
        if not elsewhere:
            self.peers.emitted(event)


def _with_files(admission: Admission) -> Admission:
    coming = any(file.coming for file in admission.message.attachments)
    return msgspec.structs.replace(admission, awaiting_files=True) if coming else admission
