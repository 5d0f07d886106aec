"""The records: what the store holds as people and programs see it, and what they may do to it.

The fields of these views are public: scripts read them as JSON. New ones may come, none leaves or
changes its meaning. Times are unix seconds.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from nanobot.messages import Address, OutboundKind
from nanobot.session.approvals import Approval, RuleView
from nanobot.session.entries import FeedbackEntry
from nanobot.session.runs import Ending, Run, RunUsage
from nanobot.session.states import RunKind, RunState


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A session. `run` is alive, `waiting` messages have no run yet, `found` is a sentence."""

    key: str
    title: str
    has_unread: bool
    updated_at: float
    created_at: float
    model: str | None
    entries: int
    waiting: int
    run: str | None
    pinned: bool = False
    archived: bool = False
    found: str = ""


class EntryView(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a session's log; `body` is None once its payload was erased."""

    seq: int
    run_id: str
    at: float
    kind: str
    body: dict[str, Any] | None


class SessionPage(msgspec.Struct, frozen=True, kw_only=True):
    """A session with entries of its log, in order."""

    session: SessionView
    entries: tuple[EntryView, ...]


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run. `usage` is there once it has ended, `inbound_ids` are the messages it answers. Of a
    background run that was started: its `type`, `title`, and the `parent_session` that hears of
    its end; `parent` is the run that started it. `about`: its title, or the first sentence of the
    message that it answers."""

    id: str
    session_key: str
    kind: RunKind
    state: RunState
    parent: str | None
    inbound_ids: tuple[int, ...]
    usage: RunUsage | None
    error: str | None
    origin: str
    address: str
    attempts: int
    created_at: float
    ended_at: float | None
    type: str | None = None
    title: str | None = None
    parent_session: str | None = None
    about: str = ""


class FeedbackView(msgspec.Struct, frozen=True, kw_only=True):
    """What a person thinks of a run's answer: up or down, and why if they said so."""

    run_id: str
    verdict: str
    by: str
    at: float
    text: str = ""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """An answer on its way to a chat; `settled_at` is None as long as it is."""

    channel: str
    state: str
    created_at: float
    settled_at: float | None


class OutboxView(msgspec.Struct, frozen=True, kw_only=True):
    """A message owed to a chat. `receipt`: the platform's ids of the parts that arrived, with
    commas between; None as long as none did."""

    id: int
    address: str
    key: str
    state: str
    attempts: int
    maybe_duplicate: bool
    receipt: str | None
    kind: OutboundKind
    text: str
    error: str | None
    session_key: str
    run_id: str
    created_at: float


class ToolCallView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that a run made. `arguments` is the model's text as it came, `message` what the
    run had been asked last by then."""

    run_id: str
    session_key: str
    at: float
    name: str
    arguments: str
    ok: bool
    text: str
    ms: int
    message: str = ""


class AuditView(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose chain holds: `head` (hex), noted down, proves later that nothing before it
    was changed or cut."""

    session_key: str
    entries: int
    head: str


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is: sessions, messages waiting for a run, messages owed, dead ones, and rows
    that could not be read."""

    sessions: int
    waiting: int
    owed: int
    dead: int
    unreadable: int = 0


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Since when the oldest message waits and the oldest answer is unsent, and the tokens of model
    calls of the last minute."""

    oldest_waiting: float | None = None
    oldest_owed: float | None = None
    tokens: int = 0


class Records(Protocol):
    """The store's second port, beside journal.Journal. Reading starts no run and changes nothing.

    Lists are newest first, and at most `limit` long.
    """

    async def counts(self) -> Counts:
        """How much there is."""
        ...

    async def load(self, now: float) -> Load:
        """What there is to do, and what was done within the last minute."""
        ...

    async def sessions(
        self, *, limit: int, unread: bool, find: str = "", once: bool = True, skip: int = 0
    ) -> list[SessionView]:
        """The sessions that changed last, behind the first `skip`. `unread`: only those, `find`:
        with these words in name or title, `once` False: none of one message from the shell."""
        ...

    async def session(self, key: str) -> SessionView | None:
        """One session."""
        ...

    async def entries(self, key: str, *, after: int, limit: int) -> tuple[EntryView, ...]:
        """Entries of a session's log in order, from the one behind `after` on."""
        ...

    async def mark_read(self, key: str, entry: int | None = None) -> bool:
        """Everything in the session was seen up to an entry (None: all of it). Once all of it was,
        nothing said there has to wait for a terminal any more, except questions. False when there
        is no such session."""
        ...

    async def delete(self, key: str) -> int:
        """Remove a session with its log, runs and messages for good, and those of the background
        runs that began in it; returns its entries. Nobody is held up meanwhile.

        What arrived there stays known by its key, so that no platform can bring it again. Raises
        UsageError while a run is alive there, or when there is no such session.
        """
        ...

    async def forget_prompts(self) -> int:
        """Every session gets a new prompt at its next run; returns how many had one."""
        ...

    async def chats(self, channel: str) -> list[Address]:
        """Where a channel's runs were asked for, the latest first; at most a thousand."""
        ...

    async def erase(self, session_key: str, seq: int, by: str) -> None:
        """Remove the payload of an entry for good, with every copy of it and the entries that quote
        it. Raises UsageError when there is no such one."""
        ...

    async def runs(
        self, *, session: str, state: str, limit: int, kind: str = "", find: str = ""
    ) -> list[RunView]:
        """Runs of a session with those it started ("": of all) in a state ("": in any, "live": not
        ended) and of a kind ("": of any), with these words in their session's name, their title or
        what went wrong."""
        ...

    async def run(self, run_id: str) -> RunView | None:
        """One run."""
        ...

    async def run_ids(self, prefix: str, limit: int) -> list[str]:
        """The ids of runs that begin so, the newest first."""
        ...

    async def run_entries(self, run_id: str) -> tuple[EntryView, ...]:
        """The entries of one run, in order."""
        ...

    async def deliveries(self, run_id: str) -> tuple[Delivery, ...]:
        """The answer of one run on its way to its chat; nothing where none is owed."""
        ...

    async def cancel(self, run_id: str, ending: Ending, by: str) -> Run | None:
        """End a live run, whoever drives it, and nothing else; None when it is not alive."""
        ...

    async def outbox(self, *, state: str, limit: int) -> list[OutboxView]:
        """Messages in a state ("": in any)."""
        ...

    async def owed(self, number: int) -> OutboxView | None:
        """One message."""
        ...

    async def arrived(self, channel: str, message_ids: tuple[str, ...]) -> list[str]:
        """Those that messages of ours are known to be on that platform."""
        ...

    async def retry(self, number: int) -> Address | None:
        """A dead message becomes unsent again; its chat, or None when it is not dead."""
        ...

    async def drop(self, number: int) -> bool:
        """Give an unsent or dead message up; False when it is neither."""
        ...

    async def tool_calls(self, *, session: str, name: str, limit: int) -> list[ToolCallView]:
        """Tool calls of a session ("": of all), of a tool ("": of any)."""
        ...

    async def approvals(self, *, session: str, state: str, limit: int) -> list[Approval]:
        """What people of a session ("": of all) were asked, in a state ("": in any, "open": what
        still counts)."""
        ...

    async def approval(self, number: int) -> Approval | None:
        """One of them."""
        ...

    async def seen(self, number: int, person: str) -> None:
        """Somebody (`Approver.key`) had all of a call shown to them."""
        ...

    async def asked_by(self, chat: Address, message_id: str) -> Approval | None:
        """The open one that this message of ours asks for, by the id of a message on the platform;
        in which thread it stands is not compared."""
        ...

    async def rules(self) -> list[RuleView]:
        """What was allowed for good, the newest first."""
        ...

    async def forget_rule(self, number: int) -> bool:
        """Take such a permission back; False when there is none of that number."""
        ...

    async def judge(self, run_id: str, entry: FeedbackEntry) -> None:
        """Keep a verdict in the log of the run's session; the same once more changes nothing."""
        ...

    async def feedback(self, run_id: str, limit: int) -> list[FeedbackView]:
        """What counts of what was said of a run ("": of all, of the newest first)."""
        ...

    async def audit(self, session: str, head: str) -> list[AuditView]:
        """Walk every chain (or one session's). Raises StoreCorrupt for one that does not hold, and
        when no walked log contains `head` (hex, "": nothing is looked for)."""
        ...
