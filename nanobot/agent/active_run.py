"""A run in the hands of its driver: the claim, the log as it grows, and what watchers are told."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.agent.step import StepLimits, own
from nanobot.bus.core import Bus
from nanobot.memory.port import scope_of
from nanobot.messages import (
    Address,
    EventKind,
    Origin,
    OutboundKind,
    OutboundMessage,
    Role,
    RunEvent,
    RunOptions,
)
from nanobot.ports import Clock
from nanobot.providers.base import Usage
from nanobot.session.approvals import Approval, ParkResult
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.entries import (
    Body,
    Entry,
    PostEntry,
    RecallEntry,
    ReplyEntry,
    SummaryEntry,
    ToolResultEntry,
    UserEntry,
)
from nanobot.session.runs import Claim, RunUsage
from nanobot.session.states import RunState
from nanobot.session.usage import run_usage
from nanobot.text import clean

_AS_CONFIGURED = RunOptions()
_SPOKEN = (Origin.USER, Origin.API, Origin.LIFECYCLE)


def _first(asked: int | None, configured: int) -> int:
    return configured if asked is None else asked


class ActiveRun:
    """One run being driven. `unrecorded` holds the bodies that the next verb will commit."""

    def __init__(self, claim: Claim, bus: Bus, clock: Clock) -> None:
        self.lane = claim.lane
        self.run = claim.run
        self.model = claim.model
        self.prompt = claim.prompt
        self.prompt_variant = claim.prompt_variant
        self.window_from = claim.window_from
        self._shared = claim.shared
        self.log: list[Entry] = []
        self.unrecorded: list[Body] = []
        self._own: list[Body] = []
        self._said: list[UserEntry] = []
        self.recorded(claim.entries)
        self.partial = ""
        self.more = False
        self.outside = False
        self.withheld: frozenset[str] = frozenset()
        self._bus = bus
        self._clock = clock
        self._seq = 0
        self._call = 0

    @property
    def entries(self) -> list[Entry]:
        """The log, with what is about to be recorded at its end."""
        if not self.unrecorded:
            return self.log
        last = self.log[-1].seq if self.log else 0
        now = self._clock.now()
        pending = [
            Entry(last + number, self.run.id, now, body)
            for number, body in enumerate(self.unrecorded, 1)
        ]
        return [*self.log, *pending]

    @property
    def bodies(self) -> list[Body]:
        """What belongs to this run."""
        return [*self._own, *self.unrecorded]

    def recorded(self, entries: Sequence[Entry]) -> None:
        """The journal has these now."""
        self.log.extend(entries)
        # Kept apart: they are asked for dozens of times a turn, and the log may be long.
        self._own += own(self.run.id, entries)
        self._said += [entry.body for entry in entries if isinstance(entry.body, UserEntry)]

    def asked(self) -> list[UserEntry]:
        """The messages this run answers."""
        return [body for body in self.bodies if isinstance(body, UserEntry)]

    def usage(self) -> RunUsage:
        """What the run took, from its log."""
        return run_usage(self.bodies)

    @property
    def terms(self) -> RunOptions:
        """What was asked of this run besides its messages."""
        for body in self.bodies:
            if isinstance(body, UserEntry) and body.terms is not None:
                return body.terms
        return _AS_CONFIGURED

    @property
    def seen(self) -> list[Entry]:
        """What of the log the model may see."""
        if self.terms.history is None:
            return self.log
        return [entry for entry in self.log if entry.run_id == self.run.id]

    @property
    def private(self) -> bool:
        """Whether one person alone reads here. Unless somebody spoke here, or where this was begun,
        nobody knows: no."""
        spoken = any(
            body.origin in _SPOKEN or (body.terms is not None and body.terms.private)
            for body in self._said
        )
        return spoken and not self._shared and not any(body.group for body in self._said)

    @property
    def with_owner(self) -> bool:
        """Whether an owner alone reads here, and owners said all that the model sees."""
        seen = self._said if self.terms.history is None else self._own
        said = (body for body in seen if isinstance(body, UserEntry))
        return self.private and all(body.role is Role.OWNER for body in said)

    @property
    def scope(self) -> str:
        """Whose memory the run has: the same that its tools have."""
        return scope_of(self.address, self.run.sender_id, self.run.role, private=self.private)

    @property
    def tainted(self) -> bool:
        """Whether anything the model sees came from outside."""
        kinds = UserEntry | ToolResultEntry | PostEntry | RecallEntry | SummaryEntry
        return self.outside or any(isinstance(e.body, kinds) and e.body.tainted for e in self.seen)

    def limits(self, configured: StepLimits) -> StepLimits:
        """How far this run may go."""
        asked = self.terms
        return StepLimits(
            max_iterations=asked.max_iterations or configured.max_iterations,
            max_tool_rounds=_first(asked.max_tool_rounds, configured.max_tool_rounds),
            max_run_seconds=asked.max_run_seconds or configured.max_run_seconds,
        )

    def may_call(self, name: str) -> bool:
        """Whether the terms of this run let it use a tool, and its stages have not withheld it."""
        if name in self.withheld:
            return False
        return self.terms.tools is None or name in self.terms.tools

    def outbound(self, text: str, kind: OutboundKind) -> OutboundMessage:
        """A message this run owes to its own address."""
        return OutboundMessage(
            address=self.run.address,
            text=text,
            kind=kind,
            key=self.run.reply_key,
            reply_to=self.run.question_id,
            direct=self.terms.direct,
        )

    @property
    def address(self) -> Address:
        """Where the run's answers go."""
        return self.run.address

    @property
    def watched(self) -> bool:
        """Whether anybody would see single tokens."""
        return self._bus.watched(self.run.session_key)

    def partial_reply(self) -> ReplyEntry:
        """What the model said before somebody stopped it."""
        return ReplyEntry(call=self._call, text=clean(self.partial), partial=True)

    def parked(self, parked: ParkResult, asked: Approval) -> None:
        """The run is a row now that waits for a person; its lane is free. `more` waits there."""
        self.more = parked.more
        for address in parked.owes:
            self.owed(address)
        self._bus.wake(self.run.session_key, self.run.kind, asked.expires_at - asked.asked_at)
        self.emit(EventKind.STATUS, state="waiting")
        told: dict[str, object] = {"tool": asked.tool, "arguments": asked.arguments[:500]}
        told |= {"why": asked.why, "id": getattr(parked.entries[0].body, "id", 0)}
        self.emit(EventKind.APPROVAL, question=asked.question, choices=asked.choices, **told)

    async def start_auxiliary(self, call: AuxiliaryCall) -> Reservation:
        """See Journal.start_auxiliary."""
        return await self._bus.journal.start_auxiliary(self.lane, self.run, call)

    async def start_retry(self, discarded: Usage) -> None:
        """See Journal.start_retry."""
        await self._bus.journal.start_retry(self.lane, self.run, discarded)

    def owed(self, address: Address) -> None:
        """The run owes something to a chat."""
        self._bus.owed(address)

    def stopped(self) -> None:
        """An order ended this run; its driver must not touch it any more."""
        self.ended(RunState.ABORTED, "", None)

    def ended(self, state: RunState, text: str, error: str | None) -> None:
        """Tell the watchers that it is over, and which messages it answered."""
        ids = [message.message_id for message in self.asked() if message.message_id]
        self.emit(EventKind.END, state=str(state), text=text, error=error, message_ids=ids)

    def begin_call(self, number: int) -> None:
        """A model call starts: what the last one streamed is void."""
        self._call = number
        self.partial = ""

    def emit(self, kind: EventKind, **payload: object) -> None:
        """Tell the watchers."""
        self._seq += 1
        self._bus.emit(
            RunEvent(
                run_id=self.run.id,
                session_key=self.run.session_key,
                model_call=self._call,
                seq=self._seq,
                kind=kind,
                at=self._clock.now(),
                payload=payload,
            )
        )
