"""Makes the tool calls of a reply in order, and logs each effect before it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from nanobot import labels
from nanobot.agent import step
from nanobot.agent.active_run import ActiveRun
from nanobot.agent.asking import Asker, refusal
from nanobot.boundary import boundary
from nanobot.errors import StoreError, ToolError
from nanobot.messages import EventKind, OutboundMessage
from nanobot.ports import Clock
from nanobot.session.approvals import AllowedForGood, NobodyReached, Parked, ParkResult
from nanobot.session.entries import ToolResultEntry, ToolStartedEntry
from nanobot.session.labelling import of_result
from nanobot.session.store_write import StoreWrite
from nanobot.tools.base import CallContext, Effect, ToolOutput
from nanobot.tools.toolbox import Toolbox
from nanobot.tools.verdict import PolicyDecision, Verdict

ANOTHER_TOOL = (
    "not executed: its server changed this tool after the call was approved. "
    "Make the call again if it is still needed."
)
MOST_AT_ONCE = 8
"""Maximum number of calls without effect made in parallel."""
_QUICK_SECONDS = 0.05
"""Calls without effect that take longer are made with their reply on disk."""
_DECIDED = PolicyDecision(verdict=Verdict.ALLOW, rule="decided", why="it is decided already")

_EACH = PolicyDecision(
    verdict=Verdict.ASK, rule="options of the run", why="the program wants to agree to every call"
)


class Receipts(Protocol):
    """What becomes of messages that calls send; the plugin `sending` offers it, on or off."""

    async def given(self, active: ActiveRun, output: ToolOutput) -> tuple[ToolOutput, bool]:
        """Commit the messages of a call, under its key, and wait for their delivery, which is its
        result; whether all of them will arrive. Raises StoreError."""


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a call that failed inside its tool is repeated, `delay` seconds later. Only calls
    without effect are: any other may have had its effect before it failed."""

    count: int = 0
    delay: float = 1.0


class _Batch:
    """Results that are not yet in the log. The laps add up to the time that the calls took, also
    when they were made in parallel."""

    def __init__(self, clock: Clock) -> None:
        self.results: list[ToolResultEntry] = []
        self.effects: tuple[OutboundMessage | StoreWrite, ...] = ()
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        self._since = self._clock.monotonic()

    def lap(self) -> int:
        """Milliseconds since the last lap."""
        began, self._since = self._since, self._clock.monotonic()
        return max(int((self._since - began) * 1000), 0)

    def taken(self) -> tuple[list[ToolResultEntry], tuple[OutboundMessage | StoreWrite, ...]]:
        taken = self.results, self.effects
        self.results, self.effects = [], ()
        return taken


class ToolExecutor:
    """Makes the tool calls of runs, within `max_run_seconds` per run. If there are `receipts`, they
    are the results of calls that send messages. Without an `asker`, calls that a person would have
    to approve are refused."""

    def __init__(
        self,
        tools: Toolbox,
        clock: Clock,
        max_run_seconds: float,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        receipts: Receipts | None = None,
        asker: Asker | None = None,
    ) -> None:
        self._tools = tools
        self._clock = clock
        self.max_run_seconds = max_run_seconds
        self.retries = retries
        self._receipts = receipts
        self._asker = asker

    async def call(self, active: ActiveRun, calls: tuple[step.PendingCall, ...]) -> Parked | None:
        """Make the calls of a reply in order and record their results.

        Adjacent calls without effect are made in parallel. At the first call that needs a person's
        approval the run is parked, and this returns; that call and later ones wait.
        """
        active.note()
        batch = _Batch(self._clock)
        together: list[step.PendingCall] = []
        for requested in calls:
            pending = self._as_approved(requested)
            pending = _within_options(active, pending, len(batch.results) + len(together))
            decision = await self._decision(active, pending)
            judged = f"{decision.verdict} {decision.rule}"
            pending = msgspec.structs.replace(pending, judged=judged)
            if decision.verdict is Verdict.ALLOW and self._harmless(pending):
                together.append(pending)
                continue
            await self._side_by_side(active, together, batch)
            if decision.verdict is Verdict.ASK:
                await self._note(active, batch)
                match await self._ask(active, pending, decision):
                    case Parked() as parked:
                        return parked
                    case AllowedForGood():  # logged now, so that the next step sees it
                        return None
                    case NobodyReached():
                        why = refusal(decision, self._asker)
                        pending = msgspec.structs.replace(pending, refusal=why)
            elif decision.verdict is Verdict.DENY:
                why = f"not executed: {pending.call.name} is not allowed here: {decision.why}"
                pending = msgspec.structs.replace(pending, refusal=why)
            elif decision.configured or decision.typed:
                pending = msgspec.structs.replace(pending, approved=True)
            await self._call_one(active, pending, batch)
        await self._side_by_side(active, together, batch)
        await self._note(active, batch)
        return None

    def _as_approved(self, pending: step.PendingCall) -> step.PendingCall:
        """Refuse an approved call if its tool has changed since. An approval without a version is
        older than versions; a tool without one is not pinned, or is gone."""
        tool = self._tools.tool(pending.call.name)
        now = "" if tool is None else tool.version
        if not pending.approved or now in ("", pending.version) or not pending.version:
            return pending
        return msgspec.structs.replace(pending, approved=False, refusal=ANOTHER_TOOL)

    async def _decision(self, active: ActiveRun, pending: step.PendingCall) -> PolicyDecision:
        if pending.refusal is not None or pending.approved:
            return _DECIDED
        call = pending.call
        decision = await self._tools.judge(call.name, call.arguments, _context(active, pending))
        if active.options.approve and decision.verdict is Verdict.ALLOW and not decision.configured:
            return _EACH
        return decision

    async def _ask(
        self, active: ActiveRun, pending: step.PendingCall, decision: PolicyDecision
    ) -> ParkResult:
        if self._asker is None:
            return NobodyReached()
        question = self._asker(self._tools, active, pending, decision, self._clock.now())
        return NobodyReached() if question is None else await active.park(question)

    async def _call_one(self, active: ActiveRun, pending: step.PendingCall, batch: _Batch) -> None:
        call = pending.call
        touches_world = pending.refusal is None and self._tools.acts(
            call.name, call.arguments, _context(active, pending)
        )
        if touches_world:
            await self._note(active, batch)
            started = ToolStartedEntry(
                call=pending.model_call, index=pending.index, name=pending.call.name
            )
            await active.start_tool(started)
        elif pending.refusal is None:
            await active.record()
        batch.begin()
        await self._perform(active, pending, batch)
        if touches_world or batch.effects:  # the next call may read data that this one stores
            await self._note(active, batch)

    def _harmless(self, pending: step.PendingCall) -> bool:
        tool = self._tools.tool(pending.call.name)
        return pending.refusal is None and tool is not None and tool.effect is Effect.NONE

    async def _side_by_side(
        self, active: ActiveRun, together: list[step.PendingCall], batch: _Batch
    ) -> None:
        """Make calls without effect in parallel. Their results keep the order of the calls. If they
        take longer, what is noted is recorded meanwhile."""
        at_once = asyncio.Semaphore(active.options.max_parallel or MOST_AT_ONCE)
        place = len(batch.results)
        lost: StoreError | None = None
        batch.begin()

        async def make(pending: step.PendingCall) -> None:
            async with at_once:
                await self._perform(active, pending, batch)

        async with asyncio.TaskGroup() as tasks:
            made = [
                tasks.create_task(make(pending), name=f"call {pending.index} of {active.run.id}")
                for pending in together
            ]
            if made and (await asyncio.wait(made, timeout=_QUICK_SECONDS))[1]:
                lost = await self._lost(active, made)
        if lost is not None:
            raise lost
        together.clear()
        batch.results[place:] = sorted(batch.results[place:], key=lambda result: result.index)

    @staticmethod
    async def _lost(active: ActiveRun, made: Sequence[asyncio.Task[None]]) -> StoreError | None:
        """Record what is noted. If that fails, the calls end. Raised within their TaskGroup, the
        error would come out as a group, and a cancellation at the same time would be lost."""
        try:
            await active.record()
        except StoreError as error:
            for task in made:
                task.cancel()
            return error
        return None

    async def _note(self, active: ActiveRun, batch: _Batch) -> None:
        results, effects = batch.taken()
        if effects:
            await active.record(results, effects)
        else:
            active.note(results)

    async def _perform(self, active: ActiveRun, pending: step.PendingCall, batch: _Batch) -> None:
        """Make one call. Every failure becomes a result for the model."""
        name, arguments = pending.call.name, pending.call.arguments
        key = active.call_key(pending.model_call, pending.index)
        active.emit(EventKind.TOOL_CALL, key=key, name=name, arguments=arguments)
        seconds = active.options.max_run_seconds or self.max_run_seconds
        output, ok = ToolOutput(pending.refusal or ""), False
        tainted = False
        if pending.refusal is None:
            context = _context(active, pending)
            left = seconds - step.elapsed_seconds([*active.bodies, *batch.results])
            output, ok = await self._tried(active, pending, context, max(left, 0.05))
            if output.messages and self._receipts is not None:
                output, ok = await self._receipts.given(active, output)
            tainted = output.tainted or self._tools.taints(name, arguments, context)
        ms, text = batch.lap(), self._tools.redact(output.text)
        result = ToolResultEntry(
            call=pending.model_call,
            index=pending.index,
            name=name,
            text=text,
            ok=ok,
            ms=ms,
            tainted=tainted,
            label=of_result(name, tainted=tainted).join(output.label).encoded(),
            attachments=output.attachments,
            addresses=output.addresses,
            facts={**output.facts, "policy": pending.judged},
            usage=output.usage,
            profile=output.profile,
        )
        active.show_result(result)
        batch.results.append(result)
        batch.effects += (*output.messages, *output.writes)

    async def _tried(
        self, active: ActiveRun, pending: step.PendingCall, context: CallContext, seconds: float
    ) -> tuple[ToolOutput, bool]:
        """Make the call, repeating it where allowed, all within `seconds`."""
        name, tries = pending.call.name, 1
        tool = self._tools.tool(name)
        if tool is not None and tool.effect is Effect.NONE:
            tries += self.retries.count
        limit, text = asyncio.timeout(seconds), ""
        try:
            async with limit:
                for number in range(tries):
                    if number:
                        await self._clock.sleep(self.retries.delay)
                    with boundary(f"tool {name} of run {active.run.id}") as caught:
                        try:
                            arguments = pending.call.arguments
                            return _judged(await self._tools.perform(name, arguments, context))
                        except ToolError as error:
                            return _failed(error), False
                    text = f"error: {name} failed inside ({type(caught.error).__name__})"
        except TimeoutError:
            if not limit.expired():
                raise
            text = "error: cut off by the run's time limit; outcome unknown"
        return ToolOutput(text), False


def _failed(error: ToolError) -> ToolOutput:
    """An error in the form for the model."""
    label = labels.read(error.label)
    text = f"error: {error}"
    return ToolOutput(text, tainted=label.tainted, label=label, facts=error.facts)


def _judged(output: ToolOutput) -> tuple[ToolOutput, bool]:
    """The output in the form for the model, and whether the call succeeded."""
    if not output.failed:
        return output, True
    return msgspec.structs.replace(output, text=f"error: {output.text}"), False


def _within_options(
    active: ActiveRun, pending: step.PendingCall, unrecorded: int
) -> step.PendingCall:
    """The call, refused if the options of its run do not allow it."""
    most = active.options.max_tool_calls
    if pending.refusal is not None:
        return pending
    if not active.may_call(pending.call.name):
        why = f"not executed: {pending.call.name} may not be used in this run"
        return msgspec.structs.replace(pending, refusal=why)
    if most is None:
        return pending
    count = sum(1 for body in active.bodies if isinstance(body, ToolResultEntry))
    if count + unrecorded >= most:
        why = f"not executed: this run may make {most} tool calls. Answer with what you have."
        return msgspec.structs.replace(pending, refusal=why)
    return pending


def _context(active: ActiveRun, pending: step.PendingCall) -> CallContext:
    return CallContext(
        run_id=active.run.id,
        session_key=active.run.session_key,
        address=active.address,
        sender_id=active.run.sender_id,
        role=active.run.role,
        key=active.call_key(pending.model_call, pending.index),
        private=active.log.private,
        tainted=active.tainted,
        label=active.label,
        account=active,
        approved=pending.approved,
        origin=active.run.origin,
        logged=True,
        entries=active.log.visible,
    )
