"""Runs as the journal sees them: who may write, which lanes are ready, how a run ended."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import msgspec

from nanobot.messages import Address, Origin, OutboundMessage, Role
from nanobot.providers.base import ToolSpec, Usage
from nanobot.session import keys
from nanobot.session.entries import Body, Entry, ReplyEntry
from nanobot.session.outbox import OutboundRow
from nanobot.session.states import RunKind, RunState

_OF_PEOPLE = (Origin.USER, Origin.API, Origin.APPROVAL)


def kind_for(origin: Origin) -> RunKind:
    """People's messages are answered in chat runs; everything else runs in the background."""
    return RunKind.CHAT if origin in _OF_PEOPLE else RunKind.TASK


class Ready(msgspec.Struct, frozen=True):
    """A lane that is ready in `held` seconds. `owner`: it belongs to an owner. `parked`: its run
    waits for a person."""

    session_key: str
    kind: RunKind
    attempts: int = 0
    held: float = 0.0
    owner: bool = False
    parked: bool = False


class Lane(msgspec.Struct, frozen=True):
    """The right to write a session's log until another process claims the lane."""

    session_key: str
    token: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One durable execution. Its answers go to `address`; the log of `parent_session` notes its
    end."""

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
        """The key of the run's answer, and of the preview that becomes it."""
        return keys.answer(self.id)

    @property
    def question_id(self) -> str | None:
        """The platform's id of the person's message that the run answers."""
        return self.reply_to if self.origin is Origin.USER else None


class NewRun(msgspec.Struct, frozen=True):
    """What a worker gives to a run that begins: its id, and the time zone of its messages."""

    id: str
    zone: str


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claimed run: its lane, its log from `window_from` on (only its own entries if it brings its
    history), and the session's prompt. `shared`: several people read the chat."""

    lane: Lane
    run: Run
    entries: tuple[Entry, ...]
    window_from: int
    prompt: str | None
    prompt_variant: str | None
    model: str | None
    shared: bool = False


class PromptSnapshot(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A system prompt with its tools, stored by its digest. `parts`: names and lengths."""

    system: str
    tools: tuple[ToolSpec, ...]
    parts: tuple[tuple[str, int], ...] = ()

    @cached_property
    def tokens(self) -> int:
        """Estimated number of tokens."""
        return len(msgspec.json.encode(self)) // 3

    @cached_property
    def digest(self) -> str:
        """Its name: the hash of its bytes."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


class RunUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What a run used. `active_ms` is the sum of its recorded steps, without waiting."""

    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    active_ms: int = 0

    def plus(self, usage: Usage | None) -> RunUsage:
        """Add the tokens of one more call."""
        if usage is None:
            return self
        return msgspec.structs.replace(
            self,
            prompt_tokens=self.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self.completion_tokens + usage.completion_tokens,
            cached_tokens=self.cached_tokens + usage.cached_tokens,
        )


class WindowChange(msgspec.Struct, frozen=True):
    """Move the start of the window to entry `begin`; None: to after this run."""

    begin: int | None = None


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ends: its last entries, terminal state and outgoing messages. The window then
    starts after this run (`new_window`) or again at an earlier entry (`window_from`). `tainted`:
    these contain content from outside."""

    state: RunState
    bodies: tuple[Body, ...] = ()
    outbound: tuple[OutboundMessage, ...] = ()
    usage: RunUsage = RunUsage()
    error: str | None = None
    window: WindowChange | None = None
    tainted: bool = False
    label: str = ""

    def after(self, recorded: Sequence[Body]) -> list[Body]:
        """Its last entries, without a reply that was recorded since they were made."""
        replied = {body.call for body in recorded if isinstance(body, ReplyEntry)}
        return [b for b in self.bodies if not isinstance(b, ReplyEntry) or b.call not in replied]


class Finished(msgspec.Struct, frozen=True):
    """The result of finishing a run. `more`: messages wait in its lane. `sending`: its message as
    it was before its send began; None if the send has not begun."""

    more: bool
    sending: OutboundRow | None = None


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session with its live run, the start of its window, and its prompt if it has one. `shared`:
    several people read the chat."""

    key: str
    title: str
    model: str | None
    updated_at: float
    entries: int
    waiting: int
    run: Run | None
    window_from: int = 1
    prompt: str | None = None
    prompt_variant: str | None = None
    shared: bool = False
