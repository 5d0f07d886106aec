"""The tool calls of a reply: made in order, each effect announced in the log before it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from nanobot.agent import step
from nanobot.agent.active_run import ActiveRun
from nanobot.boundary import boundary
from nanobot.errors import ToolError
from nanobot.messages import EventKind, OutboundMessage
from nanobot.ports import Clock, StoreWrite
from nanobot.session.approvals import AllowedForGood, NobodyReached, Parked, ParkResult
from nanobot.session.entries import ReplyEntry, ToolResultEntry, ToolStartedEntry
from nanobot.tools.approval_request import CallSite, approval, nobody_to_ask
from nanobot.tools.base import CallContext, Effect, ToolOutput
from nanobot.tools.policy import PolicyDecision, Verdict
from nanobot.tools.registry import ToolRegistry

Receipt: TypeAlias = Callable[[OutboundMessage], Awaitable[str]]
"""What became of a message that is owed, in words; "" if nothing yet. Raises ToolError when it will
not arrive."""

_AT_ONCE = 8
_DECIDED = PolicyDecision(verdict=Verdict.ALLOW, rule="decided", why="it is decided already")

_EACH = PolicyDecision(
    verdict=Verdict.ASK, rule="terms of the run", why="the program wants to agree to every call"
)


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a call that failed inside its tool is made again, `delay` seconds later. Only calls
    without effect are: any other may have done its work before it failed."""

    count: int = 0
    delay: float = 1.0


class _Batch:
    """What calls gave and the log does not have yet. The sum of the laps is the time they took,
    also when they were made side by side."""

    def __init__(self, clock: Clock) -> None:
        self.results: list[ToolResultEntry] = []
        self.effects: tuple[OutboundMessage | StoreWrite, ...] = ()
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        """Calls are made from now on."""
        self._since = self._clock.monotonic()

    def lap(self) -> int:
        """Milliseconds since the last lap."""
        began, self._since = self._since, self._clock.monotonic()
        return max(int((self._since - began) * 1000), 0)

    def taken(self) -> tuple[list[ToolResultEntry], tuple[OutboundMessage | StoreWrite, ...]]:
        """All of it, for the log."""
        taken = self.results, self.effects
        self.results, self.effects = [], ()
        return taken


class ToolExecutor:
    """Makes the tool calls of runs, at most until `max_run_seconds` of a run are spent. Where there
    is a `receipt`, a call that sends something has it as its result."""

    def __init__(
        self,
        tools: ToolRegistry,
        clock: Clock,
        max_run_seconds: float,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        receipt: Receipt | None = None,
    ) -> None:
        self._tools = tools
        self._clock = clock
        self._max_run_seconds = max_run_seconds
        self._retries = retries
        self._receipt = receipt

    async def call(self, turn: ActiveRun, calls: tuple[step.PendingCall, ...]) -> Parked | None:
        """Record the reply that asks, then make its calls in order and record what they gave.

        Calls without effect that stand together are made side by side. At the first one that needs
        a person's approval the run is parked, which is returned; it and those after it wait."""
        await turn.record_answer()
        done = _Batch(self._clock)
        beside: list[step.PendingCall] = []
        for asked in calls:
            pending = _within_terms(turn, asked, len(done.results) + len(beside))
            judged = await self._judged(turn, pending)
            if judged.verdict is Verdict.ALLOW and self._harmless(pending):
                beside.append(pending)
                continue
            await self._side_by_side(turn, beside, done)
            if judged.verdict is Verdict.ASK:
                await self._results(turn, done)
                match await self._ask(turn, pending, judged):
                    case Parked() as parked:
                        return parked
                    case AllowedForGood():  # which the log says now, so that the next step sees it
                        return None
                    case NobodyReached():
                        why = nobody_to_ask(judged)
                        pending = msgspec.structs.replace(pending, refusal=why)
            elif judged.verdict is Verdict.DENY:
                why = f"not executed: {pending.call.name} is not allowed here: {judged.why}"
                pending = msgspec.structs.replace(pending, refusal=why)
            elif judged.configured:
                pending = msgspec.structs.replace(pending, approved=True)
            await self._one(turn, pending, done)
        await self._side_by_side(turn, beside, done)
        await self._results(turn, done)
        return None

    async def _judged(self, turn: ActiveRun, pending: step.PendingCall) -> PolicyDecision:
        if pending.refusal is not None or pending.approved:
            return _DECIDED
        call = pending.call
        judged = await self._tools.judge(call.name, call.arguments, _context(turn, pending))
        if turn.terms.approve and judged.verdict is Verdict.ALLOW and not judged.configured:
            return _EACH
        return judged

    async def _ask(
        self, turn: ActiveRun, pending: step.PendingCall, judged: PolicyDecision
    ) -> ParkResult:
        place = CallSite(
            run=turn.run,
            asked=turn.messages,
            model_call=pending.model_call,
            index=pending.index,
            tainted=turn.tainted,
        )
        question = approval(self._tools, place, pending.call, judged, self._clock.now())
        return NobodyReached() if question is None else await turn.park(question)

    async def _one(self, turn: ActiveRun, pending: step.PendingCall, done: _Batch) -> None:
        touches_world = (
            pending.refusal is None and self._tools.effect(pending.call.name) is Effect.WORLD
        )
        if touches_world:
            await self._results(turn, done)
            started = ToolStartedEntry(
                call=pending.model_call, index=pending.index, name=pending.call.name
            )
            await turn.start_tool(started)
        done.begin()
        await self._make(turn, pending, done)
        if touches_world or done.effects:  # the next call may look at what this one keeps
            await self._results(turn, done)

    def _harmless(self, pending: step.PendingCall) -> bool:
        return pending.refusal is None and self._tools.effect(pending.call.name) is Effect.NONE

    async def _side_by_side(
        self, turn: ActiveRun, beside: list[step.PendingCall], done: _Batch
    ) -> None:
        """Make calls without effect at the same time; their results keep the order of the calls."""
        at_once = asyncio.Semaphore(min(turn.terms.max_parallel or _AT_ONCE, _AT_ONCE))
        place = len(done.results)
        done.begin()

        async def make(pending: step.PendingCall) -> None:
            async with at_once:
                await self._make(turn, pending, done)

        async with asyncio.TaskGroup() as tasks:
            for pending in beside:
                tasks.create_task(make(pending), name=f"call {pending.index} of {turn.run.id}")
        beside.clear()
        done.results[place:] = sorted(done.results[place:], key=lambda result: result.index)

    async def _results(self, turn: ActiveRun, done: _Batch) -> None:
        if done.results:
            await turn.record(*done.taken())

    async def _make(self, turn: ActiveRun, pending: step.PendingCall, done: _Batch) -> None:
        """One call; every failure becomes a result that the model can work with."""
        name, key = pending.call.name, _key(turn, pending)
        turn.emit(EventKind.TOOL_CALL, key=key, name=name, arguments=pending.call.arguments[:500])
        seconds = turn.terms.max_run_seconds or self._max_run_seconds
        made, ok = ToolOutput(pending.refusal or ""), False
        if pending.refusal is None:
            left = seconds - step.elapsed_seconds([*turn.bodies, *done.results])
            made, ok = await self._tried(turn, pending, max(left, 0.05))
            if made.messages and self._receipt is not None:
                made, ok = await self._sent(turn, made, self._receipt)
        ms, text = done.lap(), self._tools.redact(made.text)
        turn.emit(EventKind.TOOL_RESULT, key=key, name=name, ok=ok, text=text[:500], ms=ms)
        result = ToolResultEntry(
            call=pending.model_call,
            index=pending.index,
            name=name,
            text=text,
            ok=ok,
            ms=ms,
            tainted=made.tainted or (pending.refusal is None and self._taints(turn, pending)),
        )
        done.results.append(result)
        done.effects += (*made.messages, *made.writes)

    def _taints(self, turn: ActiveRun, pending: step.PendingCall) -> bool:
        call = pending.call
        return self._tools.taints(call.name, call.arguments, _context(turn, pending))

    async def _sent(
        self, turn: ActiveRun, made: ToolOutput, receipt: Receipt
    ) -> tuple[ToolOutput, bool]:
        """Commit what a call sends, and see what becomes of it. Its key is the call's, so a call
        that a crash cut off here is made again and sends nothing again."""
        messages, ok = made.messages, True
        await turn.record((), messages)
        told = []
        for message in messages:
            try:
                told.append(await receipt(message) or made.text)
            except ToolError as error:
                told.append(f"error: {error}")
                ok = False
        return msgspec.structs.replace(made, text="\n".join(told), messages=()), ok

    async def _tried(
        self, turn: ActiveRun, pending: step.PendingCall, seconds: float
    ) -> tuple[ToolOutput, bool]:
        """The call, made again as often as that is harmless and wanted; all within `seconds`."""
        name, tries = pending.call.name, 1
        if self._tools.effect(name) is Effect.NONE:
            tries += self._retries.count
        limit, text = asyncio.timeout(seconds), ""
        try:
            async with limit:
                for number in range(tries):
                    if number:
                        await self._clock.sleep(self._retries.delay)
                    with boundary(f"tool {name} of run {turn.run.id}") as caught:
                        try:
                            arguments = pending.call.arguments
                            context = _context(turn, pending)
                            return await self._tools.perform(name, arguments, context), True
                        except ToolError as error:
                            return ToolOutput(f"error: {error}"), False
                    text = f"error: {name} failed inside ({type(caught.error).__name__})"
        except TimeoutError:
            if not limit.expired():
                raise
            text = "error: cut off by the run's time limit; outcome unknown"
        return ToolOutput(text), False


def _within_terms(turn: ActiveRun, pending: step.PendingCall, unrecorded: int) -> step.PendingCall:
    """The call, refused if the terms of its run do not allow it."""
    most = turn.terms.max_tool_calls
    if pending.refusal is not None:
        return pending
    if not turn.may_call(pending.call.name):
        why = f"not executed: {pending.call.name} may not be used in this run"
        return msgspec.structs.replace(pending, refusal=why)
    made = sum(1 for body in turn.bodies if isinstance(body, ToolResultEntry))
    if most is not None and made + unrecorded >= most:
        why = f"not executed: this run may make {most} tool calls. Answer with what you have."
        return msgspec.structs.replace(pending, refusal=why)
    return pending


def _key(turn: ActiveRun, pending: step.PendingCall) -> str:
    return f"{turn.run.id}:{pending.model_call}:{pending.index}"


def _context(turn: ActiveRun, pending: step.PendingCall) -> CallContext:
    return CallContext(
        run_id=turn.run.id,
        session_key=turn.run.session_key,
        address=turn.address,
        sender_id=turn.run.sender_id,
        role=turn.run.role,
        key=_key(turn, pending),
        private=turn.log.private,
        tainted=turn.tainted,
        approved=pending.approved,
        origin=turn.run.origin,
        replies=tuple(
            tuple(call.name for call in body.tool_calls)
            for body in turn.log.own
            if isinstance(body, ReplyEntry)
        ),
    )
