"""The port between the agent and its store: about a dozen verbs, each exactly one transaction.

Whatever a verb is given is either all kept or not at all, and kept means on disk when it returns.
Every verb that takes a Lane is fenced: it raises Fenced, and writes nothing, once the lane has
another owner. The contract suite runs over every implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from nanobot.agent.states import RunKind, RunState
from nanobot.approvals import Approval, Deciding, Parked
from nanobot.arrivals import Arrivals
from nanobot.asides import AsideCall, Reserved
from nanobot.bus.events import Address, InboundMessage, Origin, OutboundMessage, Role
from nanobot.outgoing import OutboundRow, Outgoing
from nanobot.providers.base import ToolSpec, Usage
from nanobot.session.entries import Body, Entry, ReplyEntry
from nanobot.tools.base import Write

Effects: TypeAlias = Sequence[OutboundMessage | Write]


class Ready(msgspec.Struct, frozen=True):
    """A lane with something to do, in `held` seconds."""

    session_key: str
    kind: RunKind
    attempts: int = 0
    held: float = 0.0


class Lane(msgspec.Struct, frozen=True):
    """The right to write a session's log, as long as nobody claims it after us."""

    session_key: str
    token: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One durable execution. `address` is where its answers go, for its whole life; the log of
    `parent_session` hears of its end."""

    id: str
    session_key: str
    kind: RunKind
    state: RunState
    origin: Origin
    address: Address
    sender_id: str
    role: Role
    reply_to: str | None
    first_seq: int
    attempts: int
    created_at: float
    error: str | None = None
    ended_at: float | None = None
    parent_session: str | None = None

    @property
    def reply_key(self) -> str:
        """The key of what the run answers, and of the preview that becomes it."""
        return f"{self.id}:0"


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A run to drive: its lane, its log from `window_from` on, and the session's prompt."""

    lane: Lane
    run: Run
    entries: tuple[Entry, ...]
    window_from: int
    prompt: str | None
    flavour: str | None
    model: str | None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A system prompt (`parts`: their names and lengths) with its tools, stored by its digest."""

    system: str
    tools: tuple[ToolSpec, ...]
    parts: tuple[tuple[str, int], ...] = ()


class RunUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What a run took. `active_ms` is the sum of its recorded steps; waiting is not in it."""

    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    active_ms: int = 0

    def plus(self, usage: Usage | None) -> RunUsage:
        """With one more call's tokens."""
        if usage is None:
            return self
        return msgspec.structs.replace(
            self,
            prompt_tokens=self.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self.completion_tokens + usage.completion_tokens,
            cached_tokens=self.cached_tokens + usage.cached_tokens,
        )


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ends: its last entries, its terminal state, and what it owes to whom. The model
    sees the log from here on (`new_window`) or again from an earlier entry on (`window_from`).
    `tainted`: there is content from outside in that."""

    state: RunState
    bodies: tuple[Body, ...] = ()
    outbound: tuple[OutboundMessage, ...] = ()
    usage: RunUsage = RunUsage()
    error: str | None = None
    new_window: bool = False
    window_from: int | None = None
    tainted: bool = False


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a person's message while a run of their session is going on: steer takes it
    into that run, queue keeps it for the next, collect holds it for `collect_seconds` so that a
    burst is answered as one, interrupt ends the sender's own run. Parts of one group (an album, a
    split paste) wait `group_seconds` for each other, busy or not."""

    mode: Literal["steer", "queue", "collect", "interrupt"] = "steer"
    collect_seconds: float = 2.0
    group_seconds: float = 0.7


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """A message let in. It waits in its session's lane, unless it is settled at once: by an
    `answer` (control operations, strangers), or as an order to `stop` what runs there.

    `everyone`: the order is an owner's and reaches runs and messages of others too; `children`: it
    ends the background runs that began there too. `said` is what
    the session's run has said so far, kept in the log if this message interrupts it. `fetching`:
    nobody takes it before its files are here, see Arrivals."""

    message: InboundMessage
    session_key: str
    role: Role
    answer: OutboundMessage | None = None
    stop: Ending | None = None
    everyone: bool = False
    children: bool = False
    said: ReplyEntry | None = None
    fetching: bool = False


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an Admission: `fresh` False means it was here before and nothing was written.

    `refused`: the lane was full, and the sender is being told. `owes`: the chat that something
    is owed to now. `stopped`: the run that an order, or this message, ended. `held`: seconds until
    the message may be taken."""

    inbound_id: int
    session_key: str
    kind: RunKind
    fresh: bool
    refused: bool = False
    owes: Address | None = None
    stopped: Run | None = None
    held: float = 0.0


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session with its live run."""

    key: str
    title: str
    model: str | None
    updated_at: float
    entries: int
    waiting: int
    run: Run | None


class Consumed(msgspec.Struct, frozen=True):
    """A message in the hands of a program that answers it itself. Its lane is held meanwhile."""

    inbound_id: int
    lane: Lane
    message: InboundMessage


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How far a message's run has come: queued while it waits. `text`: its answer, or why none."""

    run_id: str
    session_key: str
    message: InboundMessage
    state: RunState
    text: str = ""
    error: str | None = None
    usage: RunUsage = RunUsage()


class Journal(Arrivals, Deciding, Outgoing, Protocol):
    """The verbs. Names are what NANOBOT_CRASH_AT takes."""

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

    async def held(self, session_key: str) -> float:
        """Seconds until what waits in a lane may go on; 0 when nothing is held back."""
        ...

    async def take_pending(self, lane: Lane, run: Run, zone: str) -> tuple[Entry, ...]:
        """Steer: the waiting messages of the run's own sender, taken into this run."""
        ...

    async def start_model(
        self, lane: Lane, run: Run, bodies: Sequence[Body], prompt: Snapshot | None
    ) -> tuple[Entry, ...]:
        """A model call is about to be made (its entry is the last of `bodies`)."""
        ...

    async def start_aside(self, lane: Lane, run: Run, call: AsideCall) -> Reserved:
        """A model is about to be asked beside the run's own calls. Raises OverBudget."""
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

    async def park(self, lane: Lane, run: Run, asked: Approval) -> Parked:
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
        """Extend every lease this process holds; one lost shows at its run's next verb (Fenced)."""
        ...

    async def post(self, session_key: str, message: OutboundMessage) -> None:
        """Say something unasked: its entry and its outbound row."""
        ...

    async def take_inbound(self, done: Consumed | None) -> Consumed | None:
        """Settle the message taken before, and take the oldest one that nobody has, outside of
        any run. Its lane is held until it is settled; whoever dies first gives it back."""
        ...

    async def outcome(self, address: Address, run_id: str) -> Outcome | None:
        """How far the run has come that a message from there brought terms for, by its id."""
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

    async def snapshot(self, digest: str) -> Snapshot:
        """A stored prompt."""
        ...

    async def session(self, session_key: str) -> SessionRow | None:
        """A session as people list it."""
        ...

    async def set_model(self, session_key: str, model: str | None) -> None:
        """The model this session's next calls go to; None is the configured one."""
        ...
