"""The worker: the only consumer of the bus. It claims lanes and drives runs in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial

import msgspec
from loguru import logger

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.runner import Runner
from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import Fenced, StoreError
from nanobot.ports import Clock, Ids
from nanobot.retries import STORE_RETRY_SECONDS
from nanobot.session.entries import ReplyEntry
from nanobot.session.runs import Claim, NewRun, Run
from nanobot.session.states import RunKind, RunState
from nanobot.supervision import Work, begin_all

_TRUSTED_ATTEMPTS = 2
"""A crash ends every active run, so one unclean end is no evidence against a run; two are."""
_GATHER_SECONDS = 0.05


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs go in parallel."""

    max_runs: int = 64
    max_background: int = 8


def _slots(capacity: Capacity) -> dict[RunKind, asyncio.Semaphore]:
    return {
        RunKind.CHAT: asyncio.Semaphore(capacity.max_runs),
        RunKind.TASK: asyncio.Semaphore(capacity.max_background),
    }


class Worker:
    """Runs of one session execute in order, one at a time. Sessions execute in parallel and take
    turns.

    At most `max_runs` chat runs execute at once, and separately `max_background` background runs,
    so background work never delays a person. Runs that were active at two crashes execute one after
    another.
    """

    def __init__(
        self, bus: Bus, runner: Runner, clock: Clock, ids: Ids, capacity: Capacity
    ) -> None:
        self._bus = bus
        self._journal = bus.journal
        self._runner = runner
        self._clock = clock
        self._ids = ids
        self._capacity = capacity
        self._slots = _slots(capacity)
        self._suspects: set[str] = set()
        self._one_suspect = asyncio.Lock()
        self._driven: dict[str, tuple[ActiveRun, asyncio.Timeout]] = {}
        self._serving = 0
        self._held = 0
        self.holding = asyncio.Event()
        """Whether it holds lanes."""
        self._stopping = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.on_store_failure: set[Callable[[str, StoreError], None]] = set()
        """Called with the session whose run or claim is waiting for a failing store."""
        bus.on_stopped(self._stopped)

    async def recover(self) -> None:
        """Wake every lane with something to do, and note the runs active at two crashes."""
        for lane in await self._bus.recover():
            if lane.attempts >= _TRUSTED_ATTEMPTS:
                self._suspects.add(lane.session_key)

    async def run(self, kinds: Collection[RunKind] = tuple(RunKind)) -> None:
        """Serve lanes of these kinds until cancelled. Active runs are then released for the next
        process. It may be called again after that."""
        self._stopping.clear()
        self._slots = _slots(self._capacity)
        self._bus.begins = partial(self._new_run, kinds)
        try:
            async with asyncio.TaskGroup() as tasks:
                works: dict[str, Work] = {
                    f"agent: {kind} lanes": partial(self._consume, kind, tasks) for kind in kinds
                }
                works["agent: cancelled callers"] = self._follow_up
                begin_all(tasks, works, self._clock)
        finally:
            self._bus.begins = None
            await self._return_claims()

    async def attend(self, session_key: str) -> bool:
        """Drive the next run of one lane for a caller who waits for it, even if `run` is not
        active. True: more waits there. False: nothing does, or another driver has the lane."""
        return await self._suspected(session_key, RunKind.CHAT)

    async def drain(self, seconds: float) -> bool:
        """Claim nothing more, and wait at most `seconds` for active runs. True: all have ended."""
        self._stopping.set()
        self._bus.peers.here_changed()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def give_up(self) -> None:
        """Stop driving all lanes: this process may have lost them."""
        for _active, scope in self._driven.values():
            scope.reschedule(asyncio.get_running_loop().time())

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def running(self) -> list[Run]:
        return [active.run for active, _scope in self._driven.values()]

    def partial(self, session_key: str) -> ReplyEntry | None:
        """The model's answer so far in the session's run, to keep when it is stopped."""
        for active, _scope in self._driven.values():
            if active.run.session_key == session_key and (said := active.said()) is not None:
                return said
        return None

    def text_so_far(self, run_id: str) -> str | None:
        """The model's text so far in a run's call; None when another process drives it."""
        driven = self._driven.get(run_id)
        return None if driven is None else driven[0].partial_reply().text

    def _new_run(self, kinds: Collection[RunKind], key: str, kind: RunKind) -> NewRun | None:
        """The next run of a lane, if its message may claim it: it will be driven at once."""
        if kind not in kinds or self._stopping.is_set() or self._slots[kind].locked():
            return None
        if key in self._suspects:
            return None
        return NewRun(self._ids.run_id(), self._runner.settings.zone)

    async def _return_claims(self) -> None:
        """Free the lanes whose runs have not begun, for the next process."""
        for claim in self._bus.all_claimed():
            with suppress(StoreError):
                await self._journal.release(claim.lane, claim.run)
            self._journal.let_go(claim.lane)

    async def _consume(self, kind: RunKind, tasks: asyncio.TaskGroup) -> None:
        slots = self._slots[kind]
        while not self._stopping.is_set():
            await slots.acquire()
            with ExitStack() as failed:
                failed.callback(slots.release)
                key = await self._bus.next_lane(kind)
                failed.pop_all()
            if self._stopping.is_set():
                return
            self._serving += 1
            self._idle.clear()
            tasks.create_task(self._serve(key, kind), name=f"lane {key}")

    async def _serve(self, key: str, kind: RunKind) -> None:
        """Drive one run of one lane. If more waits there, the lane goes to the end of the queue."""
        more, later = True, STORE_RETRY_SECONDS
        try:
            with boundary(f"lane {key}"):
                more, later = await self._suspected(key, kind), 0.0
        finally:
            self._slots[kind].release()
            self._serving -= 1
            if self._serving == 0:
                self._idle.set()
        if more:
            self._bus.wake(key, kind, later)

    async def _suspected(self, key: str, kind: RunKind) -> bool:
        """A suspect is claimed only at its turn, because waiting must not count as an attempt."""
        if key not in self._suspects:
            return await self._one_run(key, kind)
        async with self._one_suspect:
            self._suspects.discard(key)
            return await self._one_run(key, kind)

    async def _one_run(self, key: str, kind: RunKind) -> bool:
        self._held += 1
        self.holding.set()
        try:
            return await self._one_claim(key, kind)
        finally:
            self._held -= 1
            if not self._held:
                self.holding.clear()

    async def _one_claim(self, key: str, kind: RunKind) -> bool:
        claim = self._bus.claimed(key)
        try:
            if claim is None:
                zone = self._runner.settings.zone
                claim = await self._journal.claim(key, self._ids.run_id(), zone)
            held = await self._journal.held(key) if claim is None else 0.0
        except StoreError as error:
            logger.error("lane {} cannot be claimed: {}", key, error)
            self._tell(key, error)
            await self._clock.sleep(STORE_RETRY_SECONDS)
            return True
        if claim is None:
            if held:
                self._bus.wake(key, kind, held)
            return False
        try:
            return await self._claimed(claim)
        finally:
            self._journal.let_go(claim.lane)

    async def _claimed(self, claim: Claim) -> bool:
        key = claim.lane.session_key
        active = self._runner.begin(claim)
        self._bus.mail_taken(
            key, max((message.inbound_id for message in active.messages), default=0)
        )
        if claim.run.state is RunState.AWAITING_HUMAN:
            self._bus.mail_waits(key)
        if claim.run.attempts > 1:
            logger.warning("run {} resumes, attempt {}", claim.run.id, claim.run.attempts)
        return await self._drive(active)

    async def _drive(self, active: ActiveRun) -> bool:
        try:
            return await self._driven_to_its_end(active)
        except asyncio.CancelledError:
            with suppress(StoreError):  # lost or unwritten: it ended, or counts as an unclean end
                await asyncio.shield(active.release())
            raise

    async def _driven_to_its_end(self, active: ActiveRun) -> bool:
        try:
            async with self._stoppable(active):
                return await self._runner.drive(active)
        except Fenced as lost:
            logger.info("run {}: {}", active.run.id, lost)
            active.stopped()  # an order may reach the log before it reaches us
            return True
        except StoreError as error:
            logger.error("run {} waits for the store: {}", active.run.id, error)
            self._tell(active.run.session_key, error)
            await self._give_back(active)
            self._bus.owed(active.address)  # the failed transaction may have been committed
            return True
        return True

    @asynccontextmanager
    async def _stoppable(self, active: ActiveRun) -> AsyncIterator[None]:
        """A scope that an order to stop cancels. By then the run's rows are final."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._driven[active.run.id] = (active, scope)
                yield
        except TimeoutError:
            if not scope.expired():
                raise
            active.stopped()
        finally:
            self._driven.pop(active.run.id, None)

    def _stopped(self, run: Run) -> None:
        driven = self._driven.get(run.id)
        if driven is not None:
            driven[1].reschedule(asyncio.get_running_loop().time())

    def _tell(self, session_key: str, error: StoreError) -> None:
        for call in tuple(self.on_store_failure):
            call(session_key, error)

    async def _give_back(self, active: ActiveRun) -> None:
        """The store failed during a run: free its lane once the store works again."""
        while True:
            await self._clock.sleep(STORE_RETRY_SECONDS)
            try:
                await active.release()
            except Fenced:
                return
            except StoreError as error:
                logger.error("the store still fails: {}", error)
            else:
                return

    async def _follow_up(self) -> None:
        """Look for work whose wake-up is missing: its caller was cancelled after a commit."""
        while True:
            await self._bus.abandoned.wait()
            await self._clock.sleep(_GATHER_SECONDS)
            with boundary("following up cancelled callers"):
                await self._bus.follow_up()
                for active, _scope in self._driven.values():
                    self._bus.mail_waits(active.run.session_key)
                await self.recover()
