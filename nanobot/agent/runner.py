"""One run, from claim to finish: ask `next_step`, perform the step, record it, ask again.

A crash anywhere restarts this loop over the same log.
"""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from loguru import logger

from nanobot.addresses import owners_alone
from nanobot.agent import step
from nanobot.agent.active_run import ActiveRun
from nanobot.agent.attachments import blind
from nanobot.agent.model_calls import ModelCaller
from nanobot.agent.settings import RunSettings
from nanobot.agent.tool_calls import ToolExecutor
from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import ConfigError, ModelError, OverBudget, StoreError, ToolError
from nanobot.messages import EventKind, LaneCommand, Origin, OutboundKind
from nanobot.ports import Clock
from nanobot.session.entries import (
    FailedEntry,
    ObjectionEntry,
    WindowResetEntry,
)
from nanobot.session.run_types import NO_TYPES, RunTypes
from nanobot.session.runs import Claim, WindowChange
from nanobot.session.states import RunState
from nanobot.text import Sentence, around
from nanobot.visible import blank

MAX_UNCLEAN_ENDS = 3
_SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What a machine has too little of for a while: a run waits for it, as it waits for the store."""

Stage: TypeAlias = Callable[[ActiveRun], Awaitable[None]]
"""Runs before the run acts, also when it resumes. Whatever it adds for the model is in the log when
it returns; if it sets `answer`, that is the run's answer, and no later stage runs. Raises
StoreError only."""
Check: TypeAlias = Callable[[ActiveRun], Awaitable[ObjectionEntry | None]]
"""Looks at an answer before it is given. With an objection the model is asked again, once in a run,
and its next answer is given unchecked. Raises StoreError only."""
Begun: TypeAlias = Callable[[ActiveRun], None]
"""Called in the task of a run before anything else, also when it resumes: for what follows the
run's lines in the log and its requests."""
Obey: TypeAlias = Callable[[ActiveRun, LaneCommand, ModelCaller], Awaitable[bool]]
"""Performs a command of a lane other than /new, and ends its run; whether more waits there. Raises
ModelError, ConfigError, OverBudget and StoreError."""


class Runner:
    """Drives runs. It keeps no state between calls; the ActiveRun has all of it."""

    def __init__(  # noqa: PLR0913 - each is a part of a run
        self,
        bus: Bus,
        model_calls: ModelCaller,
        tool_calls: ToolExecutor,
        clock: Clock,
        types: RunTypes = NO_TYPES,
        stages: Sequence[Stage] = (),
        check: Check | None = None,
        begun: Sequence[Begun] = (),
        obey_other: Callable[[], Obey | None] = lambda: None,
    ) -> None:
        self._bus = bus
        self._model_calls = model_calls
        self._tool_calls = tool_calls
        self._clock = clock
        self._types = types
        self._stages = stages
        self._check = check
        self.begun = [*begun]
        self._obey_other = obey_other

    @property
    def settings(self) -> RunSettings:
        return self._model_calls.settings

    def begin(self, claim: Claim) -> ActiveRun:
        return ActiveRun(claim, self._bus, self._clock)

    async def drive(self, active: ActiveRun) -> bool:
        """Drive a run to its end. True: more waits in its lane. Raises StoreError when the store
        fails or the lane is lost; then nothing more may be done for this run here."""
        for begin in self.begun:
            begin(active)
        active.emit(
            EventKind.STATUS,
            state="running",
            address=active.address,
            reply_key="" if active.options.direct else active.run.reply_key,
            reply_to=active.run.question_id,
            inbound_ids=[message.inbound_id for message in active.messages],
        )
        active.show_decided()
        if active.run.attempts > MAX_UNCLEAN_ENDS:
            return await self._fail(active, "unclean", _gave_up())
        lost: StoreError | None = None
        with boundary(f"run {active.run.id}") as caught:
            try:
                return await self._act_or_say_why(active)
            except StoreError as error:
                lost = error
            except OSError as error:
                if error.errno not in _SCARCE:
                    raise
                lost = _scarce(error)
        if lost is not None:
            raise lost
        # The error may be about the very thing that could not be recorded.
        active.answer = None
        return await self._fail(active, "internal", _internal(active, caught.error))

    async def _act_or_say_why(self, active: ActiveRun) -> bool:
        command = next((message.command for message in active.messages), None)
        try:
            if command is not None:
                return await self._obey(active, command)
            return await self._act(active)
        except (ModelError, ConfigError) as error:
            logger.debug("run {}: {}", active.run.id, error)  # the chat and the run say it
            return await self._fail(active, type(error).__name__, _why(active, error))
        except OverBudget as error:
            return await self._over(active, error)
        except ToolError as error:  # of a run type: errors of tool calls go to the model
            return await self._fail(active, type(error).__name__, str(error))

    async def _act(self, active: ActiveRun) -> bool:
        if active.options.type and len(active.messages) == 1:
            result = await self._types.perform(active)
            await active.take_result(result)
            if not result.ask:
                return await active.finish(RunState.COMPLETED, result.text, OutboundKind.REPLY)
        for stage in self._stages:
            if active.answer is None:
                await stage(active)
        limits = active.limits(self.settings.limits)
        while True:
            more = await self._perform(active, limits)
            if more is not None:
                return more

    async def _perform(self, active: ActiveRun, limits: step.StepLimits) -> bool | None:
        """One step. None: another follows; otherwise whether more waits in the run's lane."""
        match step.next_step(active.run.id, active.entries, limits):
            case step.CallModel() as next_call:
                kept = await self._ask(active, next_call)
                return None if kept is None else await self._answer(active, kept)
            case step.RunTools(calls):
                parked = await self._tool_calls.call(active, calls)
                return None if parked is None else parked.more
            case step.AskHuman():
                return False
            case step.Finish() as end:
                objected = await self._objected(active, limits)
                return None if objected else await self._answer(active, end)
            case step.Stop() as end:
                return await self._stop(active, end)

    async def _ask(self, active: ActiveRun, next_call: step.CallModel) -> step.Finish | None:
        """Ask the model. If that fails and an earlier answer was held back, this is the answer."""
        try:
            await self._model_calls.call(active, next_call)
        except (ModelError, ConfigError, OverBudget) as error:
            kept = step.kept_answer(active.bodies)
            if kept is None:
                raise
            logger.info("run {}: its answer stays as it was, because: {}", active.run.id, error)
            return kept
        return None

    async def _objected(self, active: ActiveRun, limits: step.StepLimits) -> bool:
        """Hold back the answer if a check objects, unless it did before, the answer is that of a
        stage, or no further model call is allowed."""
        answer, bodies = active.answer, active.bodies
        if self._check is None or answer is None or not answer.call:
            return False
        if not step.may_object(bodies, limits):
            return False
        objection = await self._check(active)
        if objection is not None:
            await active.hold_back(objection)
        return objection is not None

    # Endings

    async def _answer(self, active: ActiveRun, end: step.Finish) -> bool:
        text = answer = "" if blank(end.text) else end.text.strip()
        text = text or "(The model gave an empty answer. Please ask again.)"
        if end.warning:
            text += f"\n\n({end.warning})"
        if any(m.steered and m.origin is Origin.USER for m in active.messages):
            text += "\n\n(This also answers your latest message.)"
        if model := blind(active.log.own):
            text += f"\n\n({model} cannot see pictures: it was only told of them.)"
        own = around(text, answer)
        return await active.finish(RunState.COMPLETED, text, OutboundKind.REPLY, own=own)

    async def _stop(self, active: ActiveRun, end: step.Stop) -> bool:
        if end.reason == "cancelled":
            return await active.finish(RunState.ABORTED, "", OutboundKind.NOTICE)
        line = f"({_limit_line(end.reason, active.limits(self.settings.limits))})"
        text = f"{end.text}\n\n{line}" if end.text else line
        kind, own = OutboundKind.REPLY, around(text, end.text)
        return await active.finish(RunState.FAILED, text, kind, error=end.reason, own=own)

    async def _over(self, active: ActiveRun, error: OverBudget) -> bool:
        """End with the reports so far, if those are all there is, and the limit's name."""
        reports = [m.text for m in active.messages if m.origin is Origin.RUN and m.inbound_id]
        so_far = step.last_text(active.bodies) or "\n\n".join(reports)
        text = (
            f"{so_far}\n\n(I stopped here: {error}.)"
            if so_far
            else f"I cannot answer now: {error}."
        )
        kind, own = OutboundKind.REPLY, around(text, so_far)
        return await active.finish(RunState.FAILED, text, kind, error=error.reason, own=own)

    async def _fail(self, active: ActiveRun, error: str, text: Sentence) -> bool:
        active.emit(EventKind.ERROR, error=error, text=text)
        last = [FailedEntry(text=text, usage=active.broken_off())]
        kind = OutboundKind.NOTICE
        return await active.finish(RunState.FAILED, text, kind, error=error, last=last)

    async def _obey(self, active: ActiveRun, command: LaneCommand) -> bool:
        kind, calls = OutboundKind.NOTICE, self._model_calls
        if command is LaneCommand.NEW:
            text = "New conversation. I no longer see what we said before (it is in the log)."
            last, window = [WindowResetEntry()], WindowChange()
            return await active.finish(RunState.COMPLETED, text, kind, last=last, window=window)
        unable = command is LaneCommand.COMPACT and calls.summarizing is None
        if unable or (obey := self._obey_other()) is None:
            return await active.finish(RunState.COMPLETED, _without_summaries(), kind)
        return await obey(active, command, calls)


def _limit_line(reason: str, limits: step.StepLimits) -> Sentence:
    if reason == "limit_iterations":
        return f"I stopped here: the limit of {limits.max_iterations} model calls."
    if reason == "limit_tool_rounds":
        return f"I stopped here: the limit of {limits.max_tool_rounds} rounds of tools."
    if reason == "limit_tool_calls":
        return f"I stopped here: the limit of {limits.max_tool_calls} tool calls."
    return f"I stopped here: the limit of {limits.max_run_seconds:g} seconds."


def _without_summaries() -> Sentence:
    return (
        "Summaries belong to the plugin summaries, which is off here: `plugins list` says why, "
        "`plugins on summaries` switches it on."
    )


def _gave_up() -> Sentence:
    return (
        f"I gave up on this: I crashed {MAX_UNCLEAN_ENDS} times while answering it. "
        "Please ask again in another way; the log of the gateway says more."
    )


def _why(active: ActiveRun, error: Exception) -> Sentence:
    """Only owners are told about problems of a model or the configuration. The readers of a job's
    message are known at the terminal, or in the chat of the person it belongs to."""
    own = owners_alone(active.address) or active.address.chat_id == active.run.sender_id
    if active.log.among_owners and (active.log.private or own):
        return f"I could not answer: {error}"
    return (
        "I could not answer, because the model is not working. The reason is in the gateway's "
        f"log, at run {active.run.id}; please ask again later."
    )


def _scarce(error: OSError) -> StoreError:
    return StoreError(f"this process can have no more ({error.strerror}): raise its limits")


def _internal(active: ActiveRun, error: Exception | None) -> Sentence:
    return (
        f"Something went wrong inside me ({type(error).__name__}). "
        f"It is in the gateway's log as run {active.run.id}; please ask again."
    )
