"""One run, from its claim to what it owes: ask `next_step`, do it, record it, ask again.

A crash anywhere is a restart of this loop over the same log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from nanobot.agent import step
from nanobot.agent.active_run import ActiveRun
from nanobot.agent.model_calls import ModelCaller
from nanobot.agent.summaries import latest
from nanobot.agent.tool_calls import ToolExecutor
from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import ConfigError, ModelError, OverBudget, StoreError, ToolError
from nanobot.messages import EventKind, LaneCommand, Origin, OutboundKind
from nanobot.ports import Clock
from nanobot.session.entries import FailedEntry, SummaryEntry, SummaryUndoneEntry, WindowResetEntry
from nanobot.session.runs import Claim, Ending, WindowChange
from nanobot.session.states import RunKind, RunState
from nanobot.session.tasks import NO_TYPES, RunTypes

MAX_UNCLEAN_ENDS = 3

Before: TypeAlias = Callable[[ActiveRun], Awaitable[None]]
"""What precedes acting, also in a run that resumes. What it adds for the model is in the log when
it returns; a reply it leaves in `unrecorded` is the answer. Raises StoreError only."""


async def _at_once(_: ActiveRun) -> None:
    pass


class Runner:
    """Drives runs. It holds no state of any run between calls: that is all in the Turn."""

    def __init__(
        self,
        bus: Bus,
        asker: ModelCaller,
        caller: ToolExecutor,
        clock: Clock,
        types: RunTypes = NO_TYPES,
        before: Before = _at_once,
    ) -> None:
        self._bus = bus
        self._journal = bus.journal
        self._asker = asker
        self._caller = caller
        self._clock = clock
        self.settings = asker.settings
        self._types = types
        self._before = before

    def begin(self, claim: Claim) -> ActiveRun:
        """Take a claim in hand."""
        return ActiveRun(claim, self._bus, self._clock)

    async def drive(self, turn: ActiveRun) -> bool:
        """Drive a run to its end. True: more waits in its lane. Raises StoreError when the store
        fails or the lane is lost; then nothing more may be done for this run here."""
        turn.emit(
            EventKind.STATUS,
            state="running",
            address=msgspec.to_builtins(turn.address),
            reply_key="" if turn.terms.direct else turn.run.reply_key,
            reply_to=turn.run.question_id,
            inbound_ids=[message.inbound_id for message in turn.asked()],
        )
        if turn.run.attempts > MAX_UNCLEAN_ENDS:
            return await self._fail(turn, *_gave_up())
        if _command(turn) is LaneCommand.NEW:
            return await self._start_afresh(turn)
        lost: StoreError | None = None
        with boundary(f"run {turn.run.id}") as caught:
            try:
                return await self._act_or_say_why(turn)
            except StoreError as error:
                lost = error
        if lost is not None:
            raise lost
        # What could not be recorded may be what went wrong.
        turn.unrecorded.clear()
        return await self._fail(turn, "internal", _internal(turn, caught.error))

    async def _act_or_say_why(self, turn: ActiveRun) -> bool:
        try:
            return await self._act(turn)
        except (ModelError, ConfigError) as error:
            return await self._fail(turn, type(error).__name__, f"I could not answer: {error}")
        except OverBudget as error:
            return await self._over(turn, error)
        except ToolError as error:  # of a run type: those of tool calls go to the model
            return await self._fail(turn, type(error).__name__, str(error))

    async def _act(self, turn: ActiveRun) -> bool:
        if _command(turn) is not None:
            return await self._compact(turn)
        if turn.terms.type and len(turn.asked()) == 1:
            made = await self._types.perform(turn)
            turn.outside = made.tainted
            if not made.ask:
                return await self._end(turn, RunState.COMPLETED, made.text, OutboundKind.REPLY)
            (first,) = turn.asked()
            asked = msgspec.structs.replace(first, text=made.text, tainted=turn.tainted)
            turn.recorded(await self._journal.record_result(turn.lane, turn.run, [asked]))
        await self._before(turn)
        limits = turn.limits(self.settings.limits)
        while True:
            match step.next_step(turn.run.id, turn.entries, limits):
                case step.CallModel() as wanted:
                    await self._asker.call(turn, wanted)
                case step.RunTools(calls):
                    await self._caller.call(turn, calls)
                case step.AskHuman():
                    return turn.more
                case step.Finish() as end:
                    return await self._answer(turn, end)
                case step.Stop() as end:
                    return await self._stop(turn, end)

    # Ends

    async def _answer(self, turn: ActiveRun, end: step.Finish) -> bool:
        text = end.text.strip() or "(The model gave an empty answer. Please ask again.)"
        if end.warning:
            text += f"\n\n({end.warning})"
        if any(message.steered for message in turn.asked()):
            text += "\n\n(This also takes in what you wrote while I was working.)"
        return await self._end(turn, RunState.COMPLETED, text, OutboundKind.REPLY)

    async def _stop(self, turn: ActiveRun, end: step.Stop) -> bool:
        if end.reason == "cancelled":
            return await self._end(turn, RunState.ABORTED, "", OutboundKind.NOTICE)
        line = f"({_LIMIT_LINES[end.reason].format(limits=turn.limits(self.settings.limits))})"
        text = f"{end.text}\n\n{line}" if end.text else line
        return await self._end(turn, RunState.FAILED, text, OutboundKind.REPLY, end.reason)

    async def _over(self, turn: ActiveRun, error: OverBudget) -> bool:
        """With what there is (reports as they came, if they are all), and the limit's name."""
        told = [m.text for m in turn.asked() if m.origin is Origin.RUN and m.inbound_id]
        said = step.said(turn.bodies) or "\n\n".join(told)
        text = f"{said}\n\n(I stopped here: {error}.)" if said else f"I cannot answer now: {error}."
        return await self._end(turn, RunState.FAILED, text, OutboundKind.REPLY, error.reason)

    async def _fail(self, turn: ActiveRun, error: str, text: str) -> bool:
        turn.emit(EventKind.ERROR, error=error, text=text)
        turn.unrecorded.append(FailedEntry(text=text))
        return await self._end(turn, RunState.FAILED, text, OutboundKind.NOTICE, error)

    async def _start_afresh(self, turn: ActiveRun) -> bool:
        """/new: the log goes on, the model sees none of what came before."""
        turn.unrecorded.append(WindowResetEntry())
        text = "New conversation. I no longer see what we said before (it is kept in the log)."
        return await self._end(
            turn, RunState.COMPLETED, text, OutboundKind.NOTICE, window=WindowChange()
        )

    async def _compact(self, turn: ActiveRun) -> bool:
        """/compact: what was said before is summed up now; `/compact undo` shows it again."""
        text, window = "There is nothing to sum up, or this model cannot.", None
        if _command(turn) is LaneCommand.COMPACT_UNDO:
            summary = latest(turn.log)
            text = "There is no summary to take back."
            if summary is not None:
                text, window = (
                    "I see everything again that the summary covered.",
                    WindowChange(summary.covers_from),
                )
                text += _facts(
                    summary, " What went to memory with it ({}) stays there: /memory list"
                )
                turn.unrecorded.append(SummaryUndoneEntry())
        elif (made := await self._asker.compact(turn)) is not None:
            text = f"I go on with this summary (`/compact undo` takes it back):\n\n{made.text}"
            text += _facts(made, "\n\n({} went to memory: /memory list)")
        return await self._end(turn, RunState.COMPLETED, text, OutboundKind.NOTICE, window=window)

    async def _end(
        self,
        turn: ActiveRun,
        state: RunState,
        text: str,
        kind: OutboundKind,
        error: str | None = None,
        *,
        window: WindowChange | None = None,
    ) -> bool:
        owed = (turn.outbound(text, kind),) if text else ()
        ending = Ending(
            state=state,
            bodies=tuple(turn.unrecorded),
            outbound=owed,
            usage=turn.usage(),
            error=error,
            window=window,
            tainted=turn.run.kind is RunKind.TASK and turn.tainted,
        )
        more = await self._journal.finish(turn.lane, turn.run, ending)
        if owed:
            self._bus.owed(turn.address)
        self._bus.reported(turn.run)
        turn.ended(state, text, error)
        return more


_LIMIT_LINES = {
    "limit_iterations": "I stopped here: the limit of {limits.max_iterations} model calls.",
    "limit_tool_rounds": "I stopped here: the limit of {limits.max_tool_rounds} rounds of tools.",
    "limit_seconds": "I stopped here: the limit of {limits.max_run_seconds:g} seconds.",
}


def _command(turn: ActiveRun) -> LaneCommand | None:
    """The command that the run is about; None for ordinary messages."""
    messages = turn.asked()
    return messages[0].command if messages else None


def _facts(summary: SummaryEntry, line: str) -> str:
    count = summary.facts
    return line.format(f"{count} fact{'s' if count > 1 else ''}") if count else ""


def _gave_up() -> tuple[str, str]:
    return "unclean", (
        f"I gave up on this: I crashed {MAX_UNCLEAN_ENDS} times while answering it. "
        "Please ask again in another way; the log of the gateway says more."
    )


def _internal(turn: ActiveRun, error: Exception | None) -> str:
    return (
        f"Something went wrong inside me ({type(error).__name__}). "
        f"It is in the gateway's log as run {turn.run.id}; please ask again."
    )
