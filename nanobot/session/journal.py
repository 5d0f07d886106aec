"""The port between the agent and its store: about a dozen verbs, each exactly one transaction.

Whatever a verb is given is either all kept or not at all, and kept means on disk when it returns.
Every verb that takes a Lane is fenced: it raises Fenced, and writes nothing, once the lane has
another owner. The contract suite runs over every implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.providers.base import Usage
from nanobot.session.approvals import AnswerOutcome, Approval, ApprovalAnswer, ParkResult
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.entries import Body, Entry
from nanobot.session.inbox import Admission, Admitted, Busy, Consumed, Unfetched
from nanobot.session.outbox import BuryScope, OutboundRow, Taken
from nanobot.session.runs import (
    Claim,
    Ending,
    Lane,
    PromptSnapshot,
    Ready,
    Run,
    RunOutcome,
    SessionRow,
)
from nanobot.session.states import RunKind
from nanobot.session.store_write import StoreWrite


class Deciding(Protocol):
    """The verb of the Journal by which people decide."""

    async def answer(self, identity: int, answer: ApprovalAnswer) -> AnswerOutcome | None:
        """A person's answer, of which the first counts; None: nothing of that id was asked. A
        parked run goes on with it. One that went on without it is followed by a message, whose run
        makes exactly that call first."""
        ...


class Arrivals(Protocol):
    """Verbs of the Journal."""

    async def unfetched(self, channel: str) -> list[Unfetched]:
        """The waiting messages of a channel whose files are not here yet, oldest first."""
        ...

    async def fetched(
        self, inbound_id: int, attachments: Sequence[Attachment]
    ) -> tuple[str, RunKind] | None:
        """What came of a message's files, by their `ref`. Its lane, if it may go on now: with all
        of them here or given up, or 5 minutes after the message came."""
        ...


class Outgoing(Protocol):
    """Verbs of the Journal."""

    async def preview(
        self, run_id: str, message: OutboundMessage, part: OutboundPart
    ) -> OutboundRow | None:
        """A preview of what the run will answer is about to be shown: a row that nobody sends, and
        that becomes the answer's (its key) once the run owes that. The row comes back with the
        receipt of what stands there already, from an earlier process too; else `receipt` or `defer`
        is to say what came of it. None: the run has ended, or it is unknown whether one stands."""
        ...

    async def owed_chats(self, channel: str) -> list[Address]:
        """Every chat of a channel with something unsent, oldest first, but those that other
        processes speak to."""
        ...

    async def next_outbound(self, address: Address) -> OutboundRow | None:
        """The oldest unsent message of a chat, with its parts."""
        ...

    async def take_chat(self, address: Address, *, helping: bool) -> Taken:
        """Speak to a chat, or go on speaking to it, for the time of a lease, unless another process
        does; the verbs of its messages raise Fenced from then on once that has taken over.
        `helping`: this one does not receive for the channel, and needs who does to share it."""
        ...

    async def renew_chats(self, addresses: Sequence[Address]) -> list[Address]:
        """Go on speaking to these; returns those that are still ours."""
        ...

    async def leave_chats(self, addresses: Sequence[Address]) -> None:
        """Let other processes speak to them at once. Nothing of them may be under way."""
        ...

    async def outbound(self, key: str) -> OutboundRow | None:
        """The message of that key, whatever became of it."""
        ...

    async def begin_send(
        self, row: OutboundRow, parts: Sequence[OutboundPart], idx: int, *, duplicate: bool
    ) -> None:
        """Part `idx` is about to be sent (the parts from it on are stored, if any are given, in the
        place of any before and of what stands in the chat by `row`), since now unless it was in
        doubt already.
        Raises Fenced when the message is no longer unsent."""
        ...

    async def receipt(
        self, row: OutboundRow, idx: int, message_id: str, *, begin: int | None
    ) -> OutboundRow | None:
        """Part `idx` was sent; part `begin` is about to be. After the last: the next message."""
        ...

    async def defer(self, row: OutboundRow, idx: int, not_before: float, error: str) -> None:
        """Nothing was applied: try again later. A part whose state in `row` is sending stays so:
        that an earlier attempt may have been applied is as true as before."""
        ...

    async def bury(self, row: OutboundRow, error: str, *, scope: BuryScope) -> int:
        """A final failure of the message, or of everything owed to its thread or its chat; tells
        the session. Returns how many messages died. A chat counts as unreachable then, until
        somebody there is admitted."""
        ...

    async def move_chat(self, channel: str, old: str, new: str) -> bool:
        """On its platform the chat `old` goes on as `new`. Whatever is kept of it stays where it
        is, under the id by which it was first known. False: it was known before."""
        ...

    async def chat_moves(self, channel: str) -> list[tuple[str, str]]:
        """Every id a chat has come to have on its platform, with the id it has here, in order."""
        ...


Effects: TypeAlias = Sequence[OutboundMessage | StoreWrite]


class Journal(Arrivals, Deciding, Outgoing, Protocol):
    """The verbs. Names are what NANOBOT_CRASH_AT takes."""

    def on_abandoned(self, call: Callable[[], None]) -> None:
        """Call `call` whenever the caller of a verb is cancelled before it learns whether the verb
        was committed. It may have been: the caller's own follow-up, such as waking a lane, is
        missing then. Reads that begin after the call see what was committed."""
        ...

    async def account(self, channel: str, identity: str) -> None:
        """Who the channel's adapter is on its platform from now on, see Intake.account."""
        ...

    async def cursor(self, channel: str) -> str | None:
        """Where a channel's intake stands."""
        ...

    async def admit(
        self,
        channel: str,
        admissions: Sequence[Admission],
        cursor: str | None,
        lane_limit: int,
        busy: Busy = Busy(),  # noqa: B008 - frozen
    ) -> list[Admitted]:
        """Take messages in, once each by (channel, chat, dedupe_key), with the channel's cursor.

        A new version of a message (`edit_of`) replaces the one that still waits, steers the run
        that answers it, and is settled unread when there was an answer already.

        An order to stop aborts the live run (the sender's own, or anybody's if `everyone`), settles
        what that sender had waiting, owes its notice, and fences the run's driver off."""
        ...

    async def ready(self) -> list[Ready]:
        """Every lane that nobody holds and that has a live run or waiting messages."""
        ...

    async def claim(self, session_key: str, run_id: str, zone: str) -> Claim | None:
        """Own the lane and get its run: the live one (its attempts counted), or a new one over the
        waiting messages of one sender in order, each its own user entry. None: nothing to do, or
        somebody else holds it. A parked run goes on once anybody says something there, which may
        be what it was waiting for, or when its time is up."""
        ...

    def let_go(self, lane: Lane) -> None:
        """Whoever claimed the lane drives it no longer, whatever became of its run: the next claim
        may have it. A claim that raises, or whose caller is cancelled, has let go of it."""
        ...

    async def held(self, session_key: str) -> float:
        """Seconds until what waits in a lane may go on; 0 when nothing is held back."""
        ...

    async def take_pending(self, lane: Lane, run: Run, zone: str) -> tuple[Entry, ...]:
        """Steer: the waiting messages of the run's own sender, taken into this run."""
        ...

    async def start_model(
        self, lane: Lane, run: Run, bodies: Sequence[Body], prompt: PromptSnapshot | None
    ) -> tuple[Entry, ...]:
        """A model call is about to be made (its entry is the last of `bodies`)."""
        ...

    async def start_auxiliary(self, lane: Lane, run: Run, call: AuxiliaryCall) -> Reservation:
        """A model is about to be asked beside the run's own calls. Raises OverBudget."""
        ...

    async def start_retry(self, lane: Lane, run: Run, discarded: Usage) -> None:
        """One more request of the run's open call is about to be made, after one that failed;
        `discarded` are the tokens of what that one had said. Raises OverBudget."""
        ...

    async def record_reply(self, lane: Lane, run: Run, body: Body) -> tuple[Entry, ...]:
        """The model asked for tools."""
        ...

    async def start_tool(self, lane: Lane, run: Run, body: Body) -> tuple[Entry, ...]:
        """A call with an effect on the world is about to be made."""
        ...

    async def record_result(
        self, lane: Lane, run: Run, bodies: Sequence[Body], effects: Effects = ()
    ) -> tuple[Entry, ...]:
        """What tool calls gave, with what they send (in the log of the other chat too) or keep."""
        ...

    async def park(self, lane: Lane, run: Run, approval: Approval) -> ParkResult:
        """Ask a person and let go of the lane: the run is a row until an answer, a message in the
        lane, an order to stop or the time ends its waiting."""
        ...

    async def finish(self, lane: Lane, run: Run, ending: Ending) -> bool:
        """End the run, settle its inbound, create what it owes, free the lane. True: more waits."""
        ...

    async def release(self, lane: Lane, run: Run) -> None:
        """Give a live run back unfinished, as a clean end: it costs no attempt."""
        ...

    async def renew(self) -> None:
        """Extend the lease of every lane that is driven here; one lost shows at its run's next verb
        (Fenced)."""
        ...

    async def post(self, session_key: str, message: OutboundMessage) -> None:
        """Say something unasked: its entry and its outbound row."""
        ...

    async def take_inbound(self, done: Consumed | None) -> Consumed | None:
        """Settle the message taken before, and take the oldest one that nobody has, outside of
        any run. Its lane is held until it is settled; whoever dies first gives it back."""
        ...

    async def outcome(self, address: Address, run_id: str) -> RunOutcome | None:
        """How far the run has come that a message from there brought options for, by its id."""
        ...

    async def abort(self, address: Address, run_id: str, ending: Ending) -> Run | None:
        """End that run (it is returned), or take its message back before there is one."""
        ...

    async def oldest_owed(self) -> OutboundRow | None:
        """The oldest unsent message of all chats, with its parts."""
        ...

    async def history(self, session_key: str) -> tuple[Entry, ...]:
        """What of a session's log the model sees at its next call."""
        ...

    async def snapshot(self, digest: str) -> PromptSnapshot | None:
        """A stored prompt; None if it is gone."""
        ...

    async def session(self, session_key: str) -> SessionRow | None:
        """A session as people list it."""
        ...

    async def set_model(self, session_key: str, model: str | None) -> None:
        """The model this session's next calls go to; None is the configured one."""
        ...
