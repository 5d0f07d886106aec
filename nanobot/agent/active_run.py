"""A run while its driver works on it: the claim, the growing log, and events for watchers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import msgspec

from nanobot.agent.run_log import RunLog
from nanobot.agent.step import StepLimits
from nanobot.bus.core import Bus
from nanobot.errors import OverBudget
from nanobot.labels import NOTHING, Label
from nanobot.messages import (
    Address,
    EventKind,
    OutboundKind,
    OutboundMessage,
    RunEvent,
    RunOptions,
    RunPayload,
)
from nanobot.ports import Clock
from nanobot.providers.base import Usage
from nanobot.session.approvals import Approval, NobodyReached, Parked, ParkResult
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.entries import (
    Body,
    DecisionEntry,
    Entry,
    ModelCallEntry,
    ObjectionEntry,
    PromptEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
    UserEntry,
)
from nanobot.session.journal import Effects
from nanobot.session.run_types import TaskResult
from nanobot.session.runs import Claim, Ending, PromptSnapshot, WindowChange
from nanobot.session.scopes import scope_of
from nanobot.session.states import RunKind, RunState
from nanobot.session.usage import guess, run_cost, run_usage
from nanobot.text import Sentence, Spans, clean


class ActiveRun:
    """A run that is being driven. Only this object writes the run's log (with the verbs below) and
    sends its events. `answer`: the model's latest answer while it is not yet in the log; the next
    verb that ends the run commits it, or `note`. `partial`: the text of the answer in progress, and
    `first_ms` the milliseconds until it began."""

    def __init__(self, claim: Claim, bus: Bus, clock: Clock) -> None:
        self.lane = claim.lane
        self.run = claim.run
        self.model = claim.model
        self.prompt = claim.prompt
        self.prompt_variant = claim.prompt_variant
        self.window_from = claim.window_from
        self.log = RunLog(claim.run.id, claim.entries)
        self.answer: ReplyEntry | None = None
        self._noted: list[Body] = []
        self.partial = ""
        self.first_ms = 0
        self._outside = NOTHING
        self._withheld: frozenset[str] = frozenset()
        self._bus = bus
        self._journal = bus.journal
        self._clock = clock
        self._call = 0

    # State

    @property
    def entries(self) -> list[Entry]:
        """The entries of this run, followed by the answer that is not yet recorded."""
        if self.answer is None:
            return self.log.steps
        last = self.log.entries[-1].seq if self.log.entries else 0
        return [*self.log.steps, Entry(last + 1, self.run.id, self._clock.now(), self.answer)]

    @property
    def bodies(self) -> list[Body]:
        """The entries of this run, with its answer."""
        return self.log.own if self.answer is None else [*self.log.own, self.answer]

    @property
    def messages(self) -> list[UserEntry]:
        return self.log.messages

    @property
    def options(self) -> RunOptions:
        return self.log.options

    @property
    def address(self) -> Address:
        return self.run.address

    @property
    def scope(self) -> str:
        """The owner of the memory that the run and its tools use, by the chat of its message."""
        address = self.messages[0].address if self.messages else self.address
        return scope_of(address, self.run.sender_id, self.run.role, private=self.log.private)

    @property
    def tainted(self) -> bool:
        """Whether the model sees content from outside, or the run was started with such content."""
        return self.label.tainted

    @property
    def label(self) -> Label:
        """The label of everything the model sees and of the run's request."""
        label = self.log.label
        return label if self._outside is NOTHING else label.join(self._outside)

    @property
    def watched(self) -> bool:
        return self._bus.watched(self.run.session_key)

    def limits(self, configured: StepLimits) -> StepLimits:
        options = self.options
        rounds = configured.max_tool_rounds
        return StepLimits(
            max_iterations=options.max_iterations or configured.max_iterations,
            max_tool_rounds=rounds if options.max_tool_rounds is None else options.max_tool_rounds,
            max_tool_calls=configured.max_tool_calls,
            max_run_seconds=options.max_run_seconds or configured.max_run_seconds,
        )

    def may_call(self, name: str) -> bool:
        """Whether the run's options allow the tool and no stage has withheld it."""
        if name in self._withheld:
            return False
        return self.options.tools is None or name in self.options.tools

    def withhold(self, name: str) -> None:
        self._withheld |= {name}

    # Writing

    async def steer(self, zone: str) -> None:
        """Add later messages of the run's sender."""
        await self.record()
        entries = await self._journal.take_pending(self.lane, self.run, zone)
        self.log.append(entries)
        if entries:
            taken = [e.body.inbound_id for e in entries if isinstance(e.body, UserEntry)]
            self.emit(EventKind.STATUS, state="steered", inbound_ids=taken)

    async def start_model(
        self, call: ModelCallEntry, variant: str, renewed: PromptSnapshot | None
    ) -> ModelCallEntry:
        """Start a model call, with a new prompt if `renewed`, record what is noted with it, and
        discard what the last call streamed. Returns the call, with its answer limited to the
        budget. Raises OverBudget."""
        prompt = PromptEntry(digest=call.prompt, prompt_variant=variant)
        noted, self._noted = self._noted, []
        bodies = [*noted, *([] if renewed is None else [prompt]), call]
        try:
            entries = await self._journal.start_model(self.lane, self.run, bodies, renewed)
        except OverBudget:
            self._noted = noted  # otherwise nobody knows whether it was committed
            raise
        self.log.append(entries)
        started = entries[-1].body
        call = started if isinstance(started, ModelCallEntry) else call
        self.window_from, self.prompt, self.prompt_variant = call.window_from, call.prompt, variant
        self._call, self.partial, self.first_ms = call.call, "", 0
        return call

    async def start_auxiliary(self, call: AuxiliaryCall) -> Reservation:
        await self.record()
        return await self._journal.start_auxiliary(self.lane, self.run, call)

    async def start_retry(self, discarded: Usage) -> None:
        await self._journal.start_retry(self.lane, self.run, discarded)

    def note(self, results: Sequence[Body] = ()) -> None:
        """Add an answer with tool calls and results to the log. The next verb commits them, in its
        own transaction if it starts a call. A crash loses them: nothing slow may come between."""
        if noted := [*([] if self.answer is None else [self.answer]), *results]:
            self.answer = None
            self._noted += noted
            self.log.note(noted, self._clock.now())

    async def hold_back(self, objection: ObjectionEntry) -> None:
        """Record the answer with an objection to it, so that it is not the run's answer."""
        if self.answer is not None:
            await self.record([self.answer, objection])
            self.answer, self.partial = None, ""
            self.emit(EventKind.STATUS, state="objected", why=objection.text)

    async def start_tool(self, started: ToolStartedEntry) -> None:
        reply = self._noted[0] if len(self._noted) == 1 else None
        if isinstance(reply, ReplyEntry):
            self._noted, self.partial = [], ""
            entries = await self._journal.record_reply(self.lane, self.run, reply, started)
        else:
            await self.record()
            entries = await self._journal.start_tool(self.lane, self.run, started)
        self.log.append(entries)

    async def record(self, results: Sequence[Body] = (), effects: Effects = ()) -> None:
        """Record what is noted, and results of calls and stages, with messages to send and data to
        store."""
        bodies, self._noted = [*self._noted, *results], []
        if bodies and isinstance(bodies[0], ReplyEntry) and bodies[0].tool_calls:
            self.log.append(await self._journal.record_reply(self.lane, self.run, bodies.pop(0)))
            self.partial = ""
        if bodies or effects:
            self.log.append(await self._journal.record_result(self.lane, self.run, bodies, effects))
        for effect in effects:
            if isinstance(effect, OutboundMessage):
                self._bus.owed(effect.address)
            else:
                effect.written()

    async def take_result(self, result: TaskResult) -> None:
        """Take the result of a run type. If it asks a model, the result becomes the message."""
        self._outside = result.said
        if result.ask:
            (first,) = self.messages
            message = msgspec.structs.replace(
                first, text=result.text, tainted=self.tainted, label=self.label.encoded()
            )
            await self.record([message])

    async def park(self, approval: Approval) -> ParkResult:
        """Ask a person. If that is possible, the run is now only a row and its lane is free."""
        await self.record()
        result = await self._journal.park(self.lane, self.run, approval)
        if isinstance(result, NobodyReached):
            return result
        self.log.append(result.entries)
        if isinstance(result, Parked):
            for address in result.owes:
                self._bus.owed(address)
            seconds = approval.expires_at - approval.asked_at
            self._bus.wake(self.run.session_key, self.run.kind, seconds)
            self.emit(EventKind.STATUS, state="waiting")
            self._show(approval, getattr(result.entries[0].body, "id", 0))
        return result

    async def finish(  # noqa: PLR0913 - a run ends in one transaction
        self,
        state: RunState,
        text: Sentence,
        kind: OutboundKind,
        *,
        error: str | None = None,
        last: Sequence[Body] = (),
        window: WindowChange | None = None,
        own: Spans | None = None,
    ) -> bool:
        """End the run with its `last` entries and a message to its chat. True: more wait."""
        await self.record()
        message = OutboundMessage(
            address=self.address,
            text=text,
            kind=kind,
            key=self.run.reply_key,
            reply_to=self.run.question_id,
            direct=self.options.direct,
            tainted=self.tainted,
            label=self.label.encoded(),
            failed=state is RunState.FAILED,
            run_id=self.run.id if state is RunState.COMPLETED else "",
            only_for=self.run.sender_id if kind is OutboundKind.NOTICE and error else "",
            own=own or None,
        )
        bodies = [*(() if self.answer is None else (self.answer,)), *last]
        ending = Ending(
            state=state,
            bodies=tuple(bodies),
            outbound=(message,) if text else (),
            usage=run_usage([*self.log.own, *bodies]),
            error=error,
            window=window,
            tainted=self.run.kind is RunKind.TASK and self.tainted,
            label=self.label.encoded(),
        )
        more = await self._finished(ending)
        self._bus.reported(self.run)
        self._ended(state, text, error, bodies)
        return more

    async def _finished(self, ending: Ending) -> bool:
        """Record the end. If the answer can be sent at once, its send begins with it."""
        departures = (self._bus.departure(message) for message in ending.outbound)
        departure = next(departures, None)
        if departure is None:
            more = await self._journal.finish(self.lane, self.run, ending)
            if ending.outbound:
                self._bus.owed(self.address)
            return more
        with departure:
            finished = await self._journal.finish_sending(
                self.lane, self.run, ending, departure.parts
            )
            departure.row = finished.sending
        return finished.more

    async def release(self) -> None:
        await self.record()
        await self._journal.release(self.lane, self.run)

    def partial_reply(self) -> ReplyEntry:
        return ReplyEntry(call=self._call, text=clean(self.partial), partial=True)

    def said(self) -> ReplyEntry | None:
        """What the model has said and no verb has committed: its reply, or its text so far."""
        if self._noted and isinstance(self._noted[0], ReplyEntry):
            return self._noted[0]
        return self.partial_reply() if self.partial else None

    def broken_off(self) -> Usage | None:
        """The estimated usage of an answer that has begun and was not recorded."""
        call = self.bodies[-1] if self.partial else None
        if not isinstance(call, ModelCallEntry):
            return None
        return Usage(call.estimate, guess(self.partial_reply()))

    def show_decided(self) -> None:
        """Report calls that a person decided while the run waited: no driver here reported them."""
        *_, decision, result = (None, None, *self.log.own)
        if isinstance(decision, DecisionEntry) and isinstance(result, ToolResultEntry):
            self.show_result(result)

    def show_result(self, result: ToolResultEntry) -> None:
        self.emit(
            EventKind.TOOL_RESULT,
            key=self.call_key(result.call, result.index),
            name=result.name,
            ok=result.ok,
            text=result.text,
            ms=result.ms,
        )

    def call_key(self, model_call: int, index: int) -> str:
        return f"{self.run.id}:{model_call}:{index}"

    def stopped(self) -> None:
        """A person stopped this run. Its driver must not write to it any more."""
        self._ended(RunState.ABORTED, "", None)

    def _ended(
        self, state: RunState, text: str, error: str | None, last: Sequence[Body] = ()
    ) -> None:
        bodies = [*self.log.own, *last]
        self.emit(
            EventKind.END,
            state=str(state),
            text=text,
            error=error,
            message_ids=[message.message_id for message in self.messages if message.message_id],
            usage=msgspec.structs.asdict(run_usage(bodies)),
            cost=run_cost(bodies),
        )

    def _show(self, approval: Approval, identity: int) -> None:
        self.emit(
            EventKind.APPROVAL,
            id=identity,
            tool=approval.tool,
            arguments=approval.arguments,
            why=approval.why,
            question=approval.question,
            choices=approval.choices,
        )

    def emit(self, kind: EventKind, **payload: Unpack[RunPayload]) -> None:
        self._bus.emit(
            RunEvent(
                run_id=self.run.id,
                session_key=self.run.session_key,
                model_call=self._call,
                seq=self._bus.next_seq(self.run.id),
                kind=kind,
                at=self._clock.now(),
                payload=payload,
            )
        )
