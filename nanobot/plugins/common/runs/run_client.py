"""The client of a worker: requests runs by message, and follows them until they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from nanobot.agent.worker import Worker
from nanobot.bus.core import Bus, Subscription
from nanobot.errors import NanobotError, RunConflict, StoreError, UsageError
from nanobot.messages import Address, EventKind, InboundMessage, Role, RunEvent
from nanobot.plugins.common.store.requested_runs import RequestedRuns, RunOutcome
from nanobot.ports import Clock
from nanobot.session.inbox import Admission
from nanobot.session.runs import Ending
from nanobot.session.states import RunKind, RunState
from nanobot.text import MAX_TEXT, without_controls
from nanobot.visible import blank

_LOOK_SECONDS = 1.0


ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.ABORTED})


class RunClient:
    """Requests runs in the lanes of an agent, with messages that contain the run's id.

    `attends`: the client must drive the lane itself, because no other driver serves it.
    """

    def __init__(self, bus: Bus, worker: Worker, clock: Clock, attends: Callable[[], bool]) -> None:
        self._bus = bus
        self._worker = worker
        self._clock = clock
        self._attends = attends

    @asynccontextmanager
    async def followed(
        self, message: InboundMessage, session_key: str
    ) -> AsyncIterator[AsyncIterator[RunEvent]]:
        """Request a run and follow it until it ends: the last event has kind `end`.

        A request with a known id follows the existing run. Raises RunConflict if that run has other
        input, and StoreError if the store fails; the run continues when the store works again. If
        you leave early, the run continues with the next driver of its lane.
        """
        run_id = message.dedupe_key
        watching = self._bus.subscribe(session_key)

        def failed(key: str, error: StoreError) -> None:
            if key == session_key:
                watching.end(error)

        self._worker.on_store_failure.add(failed)
        try:
            await self._admit(message, session_key)
            work = self._follow(watching, message.address, run_id)
            following = asyncio.get_running_loop().create_task(work, name=f"follow run {run_id}")
            following.add_done_callback(lambda task: watching.end(_error_of(task)))
            try:
                yield _of_run(watching, run_id)
            finally:
                following.cancel()
                try:
                    await asyncio.wait({following})  # its error is reported by `watching`
                finally:
                    self._bus.wake(session_key, RunKind.CHAT)
        finally:
            self._worker.on_store_failure.discard(failed)
            self._bus.unsubscribe(watching)

    async def outcome(self, address: Address, run_id: str) -> RunOutcome | None:
        return await RequestedRuns.over(self._bus.journal).outcome(address, run_id)

    async def abort(self, address: Address, run_id: str) -> bool:
        """End a run or withdraw its request, permanently. False: it had ended, or is unknown."""
        outcome = await self.outcome(address, run_id)
        if outcome is None or outcome.state in ENDED:
            return False
        partial = self._worker.partial(outcome.session_key)
        last = () if partial is None or outcome.state is RunState.QUEUED else (partial,)
        ending = Ending(state=RunState.ABORTED, bodies=last, error="aborted")
        requested = RequestedRuns.over(self._bus.journal)
        ended = await requested.abort(address, run_id, ending)
        if ended is not None:
            self._bus.stopped(ended)
        self._bus.wake(outcome.session_key, RunKind.CHAT)
        return True

    async def _admit(self, message: InboundMessage, session_key: str) -> None:
        text = without_controls(message.text)
        if len(text) > MAX_TEXT or (blank(text) and not message.attachments):
            raise UsageError(f"a message has 1 to {MAX_TEXT:,} characters")
        request = msgspec.structs.replace(message, text=text)
        admission = Admission(message=request, session_key=session_key, role=Role.OWNER)
        (taken,) = await self._bus.admit(message.address.channel, [admission])
        if taken.refused:
            raise NanobotError(f"too much is waiting in {session_key} already; it was not taken")
        if taken.fresh:
            return
        outcome = await self.outcome(message.address, message.dedupe_key)
        if (
            outcome is None
            or outcome.session_key != session_key
            or not _same(outcome.message, request)
        ):
            raise RunConflict(f"run {message.dedupe_key} was asked for with other input")

    async def _follow(self, watching: Subscription, address: Address, run_id: str) -> None:
        """Drive the lane if no one else does. Report the run's end if no driver here saw it."""
        while True:
            outcome = await self.outcome(address, run_id)
            if outcome is None:
                return
            if outcome.state in ENDED:
                watching.offer(end_of(outcome, self._bus.next_seq(run_id), self._clock.now()))
                return
            if not self._attends() or not await self._worker.attend(outcome.session_key):
                await self._clock.sleep(_LOOK_SECONDS)


def end_of(outcome: RunOutcome, seq: int, at: float) -> RunEvent:
    """The last event of a recorded run."""
    return RunEvent(
        run_id=outcome.run_id,
        session_key=outcome.session_key,
        model_call=outcome.usage.model_calls,
        seq=seq,
        kind=EventKind.END,
        at=at,
        payload={
            "state": str(outcome.state),
            "text": outcome.text,
            "error": outcome.error,
            "usage": msgspec.structs.asdict(outcome.usage),
        },
    )


def _same(message: InboundMessage, other: InboundMessage) -> bool:
    return (message.text, message.options) == (other.text, other.options)


def _error_of(task: asyncio.Task[None]) -> BaseException | None:
    return None if task.cancelled() else task.exception()


async def _of_run(watching: Subscription, run_id: str) -> AsyncIterator[RunEvent]:
    async for event in watching:
        if event.run_id == run_id:
            yield event
            if event.kind is EventKind.END:
                return
