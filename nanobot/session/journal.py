"""The port between the agent and its store: about a dozen verbs, each exactly one transaction.

A verb stores all of its input or none, and what it stored is on disk when it returns. Every verb
that takes a Lane is fenced: once the lane has another owner it raises Fenced and writes nothing.
The contract suite runs over every implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.providers.base import Usage
from nanobot.session.approvals import Approval, ParkResult
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.entries import Body, Entry
from nanobot.session.inbox import Admission, Admitted, BegunCommand, Busy, Unfetched
from nanobot.session.outbox import BuryScope, OutboundRow
from nanobot.session.runs import (
    Claim,
    Ending,
    Finished,
    Lane,
    NewRun,
    PromptSnapshot,
    Ready,
    Run,
    SessionRow,
)
from nanobot.session.states import RunKind
from nanobot.session.store_write import StoreWrite

Effects: TypeAlias = Sequence[OutboundMessage | StoreWrite]


class Journal(Protocol):
    """The verbs. NANOBOT_CRASH_AT takes their names."""

    def on_abandoned(self, call: Callable[[], None]) -> None:
        """Call `call` if the caller of a verb is cancelled before it learns whether the verb was
        committed. It may have been, and then the caller's follow-up, such as waking a lane, has not
        happened. Reads that begin after the call see the committed state."""

    async def account(self, channel: str, identity: str) -> None:
        """Record the identity of the channel's account on its platform, see Intake.account."""

    async def cursor(self, channel: str) -> str | None:
        """The stored cursor of a channel's intake."""

    async def admit(
        self,
        channel: str,
        admissions: Sequence[Admission],
        cursor: str | None,
        lane_limit: int,
        busy: Busy = Busy(),  # noqa: B008 - frozen
    ) -> list[Admitted]:
        """Admit messages, each once by (channel, chat, dedupe_key), and store the channel's cursor.

        A new version of a message (`edit_of`) replaces the old one while it waits, steers the run
        that answers it, and is settled unread if it was already answered. If a message is deleted,
        its versions that wait are settled, and nothing else is written.

        An order to stop aborts the live run (the sender's own, or anyone's if `everyone`), settles
        the sender's waiting messages, creates the notice, and fences off the run's driver.
        """

    async def unchanged(self, message: InboundMessage) -> bool:
        """Whether a message was admitted before, or is an edit that changes nothing."""

    async def admit_claiming(
        self,
        channel: str,
        admission: Admission,
        cursor: str | None,
        lane_limit: int,
        busy: Busy,
        new: NewRun,
    ) -> Admitted:
        """`admit` one message and, if its lane is free and nothing else waits there, `claim` the
        lane in the same transaction. If the claim is impossible or fails, only admit."""

    async def ready(self) -> list[Ready]:
        """Every free lane with a live run or waiting messages."""

    async def claim(self, session_key: str, run_id: str, zone: str) -> Claim | None:
        """Claim the lane and return its run: the live one (counting the attempt), or a new one over
        the waiting messages of one sender in order, each its own user entry. None: there is nothing
        to do, or the lane is held. A parked run continues when a message arrives in its lane, which
        may be the answer it waits for, or when its time is up."""

    def let_go(self, lane: Lane) -> None:
        """Stop driving a claimed lane, whatever the state of its run. It can then be claimed again.
        A claim that raises, or whose caller is cancelled, does this too."""

    async def held(self, session_key: str) -> float:
        """Seconds until a delayed message in a lane can be taken; 0 when none is delayed."""

    async def take_pending(self, lane: Lane, run: Run, zone: str) -> tuple[Entry, ...]:
        """Steer: take the waiting messages of the run's own sender into this run."""

    async def start_model(
        self, lane: Lane, run: Run, bodies: Sequence[Body], prompt: PromptSnapshot | None
    ) -> tuple[Entry, ...]:
        """Record a model call before it is made. Its entry is the last of `bodies`. They may begin
        with what preceded it: `record_reply` and `record_result` are then in the transaction."""

    async def start_auxiliary(self, lane: Lane, run: Run, call: AuxiliaryCall) -> Reservation:
        """Reserve a model call outside the run's main loop. Raises OverBudget."""

    async def start_retry(self, lane: Lane, run: Run, discarded: Usage) -> None:
        """Reserve another request of the run's open call after one failed. `discarded`: the tokens
        that the failed request had produced. Raises OverBudget."""

    async def record_reply(self, lane: Lane, run: Run, *bodies: Body) -> tuple[Entry, ...]:
        """Record a reply that calls tools. The body of a `start_tool` may follow it."""

    async def start_tool(self, lane: Lane, run: Run, body: Body) -> tuple[Entry, ...]:
        """Record a call that affects the outside world, before it is made."""

    async def record_result(
        self, lane: Lane, run: Run, bodies: Sequence[Body], effects: Effects = ()
    ) -> tuple[Entry, ...]:
        """Record the results of tool calls, with the messages they send (also logged in the other
        chat) and the data they store."""

    async def park(self, lane: Lane, run: Run, approval: Approval) -> ParkResult:
        """Ask a person and free the lane. The run is only a row until an answer, a message in the
        lane, an order to stop or the expiry ends the wait."""

    async def finish(self, lane: Lane, run: Run, ending: Ending) -> bool:
        """End the run, settle its inbound, create its outgoing messages, free the lane.
        True: more."""

    async def finish_sending(
        self, lane: Lane, run: Run, ending: Ending, parts: Sequence[OutboundPart]
    ) -> Finished:
        """`finish` and, in the same transaction, `begin_send` of the first of `parts`: those of the
        ending's only message. If its chat has another unsent message, or is no longer this
        process's, the run only finishes."""

    async def release(self, lane: Lane, run: Run) -> None:
        """Return a live run unfinished at a clean shutdown. This does not count as an attempt."""

    async def post(self, session_key: str, message: OutboundMessage) -> None:
        """Send a message unasked: create its entry and its outbound row."""

    async def history(self, session_key: str) -> tuple[Entry, ...]:
        """The part of a session's log that the model sees at its next call."""

    async def snapshot(self, digest: str) -> PromptSnapshot | None:
        """A stored prompt; None if it was removed."""

    async def session(self, session_key: str) -> SessionRow | None:
        """The session as lists show it."""

    # Files and answers that follow a message

    async def unfetched(self, channel: str) -> list[Unfetched]:
        """The waiting messages of a channel whose files are not here yet, oldest first."""

    async def fetched(
        self, inbound_id: int, attachments: Sequence[Attachment]
    ) -> tuple[str, RunKind] | None:
        """Record the result of fetching a message's files, by their `ref`. Returns its lane if it
        can continue: all files are here or given up, or the message is 5 minutes old."""

    async def begun_commands(self, channel: str) -> list[BegunCommand]:
        """The commands of a channel that were admitted as `performing` and have no answer, oldest
        first."""

    async def performed(self, inbound_id: int, answer: OutboundMessage | None) -> bool:
        """A command admitted as `performing` has ended: settle its message and owe the answer.
        False: it was settled before, and nothing is written."""

    # Messages to chats

    async def owed_chats(self, channel: str) -> list[Address]:
        """A channel's chats with unsent messages, oldest first, unless another process has them."""

    async def next_outbound(self, address: Address) -> OutboundRow | None:
        """The oldest unsent message of a chat, with its parts."""

    async def outbound(self, key: str) -> OutboundRow | None:
        """The message with that key, in any state."""

    async def begin_send(
        self, row: OutboundRow, parts: Sequence[OutboundPart], idx: int, *, duplicate: bool
    ) -> None:
        """Record that part `idx` is about to be sent. If parts are given, they are stored and
        replace all parts from `idx` on and the message that `row` shows in the chat. The start time
        is now, unless an earlier send of the part is in doubt. Raises Fenced when the message is no
        longer unsent."""

    async def receipt(
        self, row: OutboundRow, idx: int, message_id: str, *, begin: int | None
    ) -> OutboundRow | None:
        """Part `idx` was sent; part `begin` is about to be. After the last: the next message."""

    async def defer(self, row: OutboundRow, idx: int, not_before: float, error: str) -> None:
        """Nothing was applied: try again later. If `row` says that the part is sending, it stays
        so, because an earlier attempt may still have arrived."""

    async def bury(self, row: OutboundRow, error: str, *, scope: BuryScope) -> int:
        """Mark the message, or all messages to its thread or chat, as finally failed, and tell the
        session. Returns the number of messages. The chat then counts as unreachable until a message
        from there is admitted."""

    async def move_chat(self, channel: str, old: str, new: str) -> bool:
        """The platform gave the chat `old` the id `new`. All stored data keeps the id by which the
        chat was first known. False: the move was already known."""

    async def chat_moves(self, channel: str) -> list[tuple[str, str]]:
        """Every new id of a chat on its platform, with its id here, in order."""
