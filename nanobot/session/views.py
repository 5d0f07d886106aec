"""The records: the store as people and programs see it, and the changes they can make.

The fields of these views are public, because scripts read them as JSON. Fields may be added; none
is removed or changes its meaning. Times are unix seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from nanobot.messages import Address
from nanobot.session.approvals import Approval, RuleView
from nanobot.session.entries import Body
from nanobot.session.runs import Ending, Run, RunUsage
from nanobot.session.states import RunKind, RunState
from nanobot.text import SHAPE, Sentence


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A session. `has_unread`: it changed since it was read; a chat's is read when a message
    arrives there, one of the page when a person views it. `run`: live run; `waiting`: messages
    without a run; `found`: matching text."""

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
    """One entry of a session's log. `body` is None once its payload is erased."""

    seq: int
    run_id: str
    at: float
    kind: str
    body: Annotated[dict[str, Any], Meta(extra={SHAPE: Body})] | None


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run. `usage`: set after it ended. `inbound_ids`: the messages that it answers. Background
    runs have a `type`, a `title` and a `parent_session`, where their end is reported; `parent` is
    the run that started it. `about`: its title, or the first sentence of the message that it
    answers."""

    id: str
    session_key: str
    kind: RunKind
    state: RunState
    parent: str | None
    inbound_ids: tuple[int, ...]
    usage: RunUsage | None
    error: Sentence | None
    origin: str
    address: str
    attempts: int
    created_at: float
    ended_at: float | None
    type: str | None = None
    title: str | None = None
    parent_session: str | None = None
    about: str = ""


class ToolCallView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call of a run. `arguments`: the model's text, unchanged. `message`: the latest request
    to the run before the call."""

    run_id: str
    session_key: str
    at: float
    name: str
    arguments: str
    ok: bool
    text: str
    ms: int
    message: str = ""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Number of sessions, messages waiting for a run, unsent messages, failed messages, and rows
    that could not be read."""

    sessions: int
    waiting: int
    owed: int
    dead: int
    unreadable: int = 0


class Records(Protocol):
    """The store's second port, next to journal.Journal. Reading starts no run and changes nothing.

    Lists are newest first, and at most `limit` long.
    """

    async def counts(self) -> Counts:
        """How many rows of each kind there are."""
        ...

    async def session(self, key: str) -> SessionView | None:
        """One session."""
        ...

    async def forget_prompts(self) -> int:
        """Give every session a new prompt at its next run. Returns how many had one."""
        ...

    async def chats(self, channel: str) -> list[Address]:
        """The addresses where a channel's runs were requested, latest first; at most a thousand."""
        ...

    async def runs(
        self, *, session: str, state: str, limit: int, kind: str = "", find: str = ""
    ) -> list[RunView]:
        """Runs of a session and the runs it started ("": of all), by state ("": any, "live": not
        ended) and kind ("": any). `find`: words in the session's name, the title or the error."""
        ...

    async def run(self, run_id: str) -> RunView | None:
        """One run."""
        ...

    async def run_entries(self, run_id: str) -> tuple[EntryView, ...]:
        """The entries of one run, in order."""
        ...

    async def cancel(self, run_id: str, ending: Ending, by: str) -> Run | None:
        """End one live run, whichever process drives it. None: it is not alive."""
        ...

    async def children(self, session_key: str, sender_id: str | None) -> list[str]:
        """The live runs started from a session (by that sender), and those that these started."""
        ...

    async def arrived(self, channel: str, message_ids: tuple[str, ...]) -> list[str]:
        """Those ids that belong to delivered messages of ours on that platform."""
        ...

    async def approvals(self, *, session: str, state: str, limit: int) -> list[Approval]:
        """Questions of a session ("": of all), in a state ("": any, "open": undecided)."""
        ...

    async def approval(self, number: int) -> Approval | None:
        """One question."""
        ...

    async def seen(self, number: int, person: str) -> None:
        """Record that a person (`Approver.key`) was shown the whole call."""
        ...

    async def asked_by(self, chat: Address, message_id: str) -> Approval | None:
        """The open question that this message of ours asks, by the platform's id of a message. The
        thread is not compared."""
        ...

    async def rules(self) -> list[RuleView]:
        """The calls that are always allowed, newest first."""
        ...

    async def forget_rule(self, number: int) -> bool:
        """Revoke such a permission. False: there is none with that number."""
        ...
