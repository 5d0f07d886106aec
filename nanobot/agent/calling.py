"""The tool calls of a reply: made in order, each effect announced in the log before it happens."""

from __future__ import annotations

import asyncio

import msgspec

from nanobot.agent import step
from nanobot.agent.turn import Turn
from nanobot.boundary import boundary
from nanobot.bus.events import EventKind
from nanobot.errors import ToolError
from nanobot.journal import Journal
from nanobot.ports import Clock
from nanobot.session.entries import ToolResultEntry, ToolStartedEntry
from nanobot.tools.base import CallContext, Effect
from nanobot.tools.registry import ToolRegistry


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a call that failed inside its tool is made again, `delay` seconds later. Only calls
    without effect are: any other may have done its work before it failed."""

    count: int = 0
    delay: float = 1.0


class Caller:
    """Makes the tool calls of runs, at most until `max_run_seconds` of a run are spent."""

    def __init__(
        self,
        journal: Journal,
        tools: ToolRegistry,
        clock: Clock,
        max_run_seconds: float,
        retries: Retries = Retries(),  # noqa: B008 - frozen
    ) -> None:
        self._journal = journal
        self._tools = tools
        self._clock = clock
        self._max_run_seconds = max_run_seconds
        self._retries = retries

    async def call(self, turn: Turn, calls: tuple[step.PendingCall, ...]) -> None:
        """Record the reply that asks, then make its calls in order and record what they gave."""
        if turn.unrecorded:
            (reply,) = turn.unrecorded
            turn.recorded(await self._journal.record_reply(turn.lane, turn.run, reply))
            turn.unrecorded.clear()
            turn.partial = ""
        results: list[ToolResultEntry] = []
        for asked in calls:
            pending = _within_terms(turn, asked, len(results))
            if self._touches_world(pending):
                if results:
                    await self._results(turn, results)
                started = ToolStartedEntry(
                    call=pending.model_call, index=pending.index, name=pending.call.name
                )
                turn.recorded(await self._journal.start_tool(turn.lane, turn.run, started))
            spent = sum(result.ms for result in results)
            results.append(await self._make(turn, pending, spent))
            if self._touches_world(pending):
                await self._results(turn, results)
        if results:
            await self._results(turn, results)

    def _touches_world(self, pending: step.PendingCall) -> bool:
        return pending.refusal is None and self._tools.effect(pending.call.name) is Effect.WORLD

    async def _results(self, turn: Turn, results: list[ToolResultEntry]) -> None:
        turn.recorded(await self._journal.record_result(turn.lane, turn.run, results))
        results.clear()

    async def _make(self, turn: Turn, pending: step.PendingCall, spent: int) -> ToolResultEntry:
        """One call, `spent` ms after the last recorded one; every failure becomes a result that the
        model can work with."""
        name, key = pending.call.name, f"{turn.run.id}:{pending.model_call}:{pending.index}"
        turn.emit(EventKind.TOOL_CALL, key=key, name=name, arguments=pending.call.arguments[:500])
        seconds = turn.terms.max_run_seconds or self._max_run_seconds
        began = self._clock.monotonic()
        text, ok = pending.refusal or "", False
        if pending.refusal is None:
            left = seconds - (step.elapsed_ms(turn.bodies) + spent) / 1000
            text, ok = await self._tried(turn, pending, key, max(left, 0.05))
        ms = max(int((self._clock.monotonic() - began) * 1000), 0)
        turn.emit(EventKind.TOOL_RESULT, key=key, name=name, ok=ok, text=text[:500], ms=ms)
        return ToolResultEntry(
            call=pending.model_call,
            index=pending.index,
            name=name,
            text=text,
            ok=ok,
            ms=ms,
            tainted=pending.refusal is None and self._tools.taints(name),
        )

    async def _tried(
        self, turn: Turn, pending: step.PendingCall, key: str, seconds: float
    ) -> tuple[str, bool]:
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
                            context = _context(turn, key)
                            return await self._tools.execute(name, arguments, context), True
                        except ToolError as error:
                            return f"error: {error}", False
                    text = f"error: {name} failed inside ({type(caught.error).__name__})"
        except TimeoutError:
            if not limit.expired():
                raise
            text = "error: cut off by the run's time limit; outcome unknown"
        return text, False


def _within_terms(turn: Turn, pending: step.PendingCall, unrecorded: int) -> step.PendingCall:
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


def _context(turn: Turn, key: str) -> CallContext:
    return CallContext(
        run_id=turn.run.id,
        session_key=turn.run.session_key,
        address=turn.address,
        sender_id=turn.run.sender_id,
        role=turn.run.role,
        key=key,
        tainted=turn.tainted,
    )
