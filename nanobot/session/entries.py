"""The log of a session: typed entries, append-only, hash-chained.

Everything a run knows is here: history, checkpoint, audit and usage are views of it. The chain
hashes each row's header and a salted digest of its payload, so a payload can be erased and the
chain still holds. A `label` says who said an entry and how private it is, see nanobot.labels.
"""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

import msgspec

from nanobot.errors import RowUnreadable
from nanobot.messages import Address, Attachment, LaneCommand, Origin, Role, RunOptions
from nanobot.providers.base import FinishReason, ModelProfile, NativeAnswer, ToolCall, Usage
from nanobot.providers.effort import Effort


class RecallEntry(msgspec.Struct, frozen=True, kw_only=True, tag="recall", omit_defaults=True):
    """What memory added to the run's messages before the first model call, with the ids of these
    `memories`."""

    text: str
    memories: tuple[int, ...] = ()
    tainted: bool = False
    label: str = ""
    ms: int = 0


class TriageEntry(msgspec.Struct, frozen=True, kw_only=True, tag="triage", omit_defaults=True):
    """What was decided before acting (`decision`: reply, run, reply_and_run, or act for none of
    them). `run_to_start` is that of a background run, as JSON; `key` makes it one run, however
    often it is started. `profile`: who decided."""

    decision: str
    reply: str = ""
    run_to_start: str = msgspec.field(default="", name="wanted")
    key: str = ""
    confidence: float = 0.0
    reason: str = ""
    usage: Usage | None = None
    ms: int = 0
    profile: ModelProfile | None = None


class RememberEntry(msgspec.Struct, frozen=True, kw_only=True, tag="remember", omit_defaults=True):
    """What is kept in memory of entries `first` to `upto`; empty if nothing there is worth it.
    `profile`: who summed it up."""

    text: str
    first: int
    upto: int
    usage: Usage | None = None
    profile: ModelProfile | None = None


CUT_OFF = "interrupted, outcome unknown"
"""So begins the result of a call that a crash cut off."""
GENESIS = b"\0" * 32
QUARANTINE = "quarantine"
"""Who an entry was erased by that could not be read."""


class UserEntry(msgspec.Struct, frozen=True, kw_only=True, tag="user", omit_defaults=True):
    """One message taken into the log. `sent_at` and `zone` tell the model the time; `quote` is what
    it answers; `edited`: it replaces what the person said before; `group`: several people read
    there; `tainted`: it brings content from outside."""

    text: str
    address: Address
    sender_id: str
    role: Role
    sent_at: float
    inbound_id: int
    message_id: str = ""
    sender_name: str = ""
    zone: str = "UTC"
    reply_to: str | None = None
    quote: str = ""
    edited: bool = False
    attachments: tuple[Attachment, ...] = ()
    origin: Origin = Origin.USER
    steered: bool = False
    group: bool = False
    tainted: bool = False
    label: str = ""
    command: LaneCommand | None = None
    options: RunOptions | None = msgspec.field(default=None, name="terms")


class PromptEntry(msgspec.Struct, frozen=True, kw_only=True, tag="prompt"):
    """From here on, model calls use the snapshot with this digest (system prompt and tools)."""

    digest: str
    prompt_variant: str


class ModelCallEntry(
    msgspec.Struct, frozen=True, kw_only=True, tag="model_call", omit_defaults=True
):
    """A model call is about to be made over the entries from `window_from` up to here."""

    call: int
    prompt: str
    window_from: int
    profile: ModelProfile
    estimate: int
    temperature: float
    max_tokens: int
    effort: Effort = "default"


class ReplyEntry(msgspec.Struct, frozen=True, kw_only=True, tag="reply", omit_defaults=True):
    """What a model call gave. `partial`: it was cut off and never acted upon, by a cancel or
    (`cut_by_limit`) because the run's seconds were over. `first_ms`: until the first piece of it
    came. `native`: see NativeAnswer. `request`: the digest of the request's bytes ("" in older
    logs), by which a replay is compared."""

    call: int
    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage | None = None
    ms: int = 0
    partial: bool = False
    cut_by_limit: bool = False
    first_ms: int = 0
    native: NativeAnswer | None = None
    request: str = ""


class ToolStartedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="tool_started"):
    """A call with an effect on the world is about to be made."""

    call: int
    index: int
    name: str


class ToolResultEntry(
    msgspec.Struct, frozen=True, kw_only=True, tag="tool_result", omit_defaults=True
):
    """What a tool call gave, or why it was not made. `tainted`: content from outside.
    `attachments`: pictures that came with it. `addresses`: what of the web it found or read."""

    call: int
    index: int
    name: str
    text: str
    ok: bool = True
    ms: int = 0
    tainted: bool = False
    label: str = ""
    attachments: tuple[Attachment, ...] = ()
    addresses: tuple[str, ...] = ()


class ApprovalEntry(msgspec.Struct, frozen=True, kw_only=True, tag="approval"):
    """A person is asked before the call is made. `digest`: of exactly that call."""

    id: int
    call: int
    index: int
    digest: str


class DecisionEntry(msgspec.Struct, frozen=True, kw_only=True, tag="decision"):
    """What became of it (`verdict`: approved, denied, answered, expired), and by whom."""

    id: int
    verdict: str
    by: str


class CancelEntry(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """Somebody ended the run."""

    by: str


class FallbackEntry(msgspec.Struct, frozen=True, kw_only=True, tag="fallback", omit_defaults=True):
    """A model failed for good, as `text` says: the run asks the next of the fallback models. `ms`:
    how long that took."""

    text: str
    ms: int = 0


class OverflowEntry(msgspec.Struct, frozen=True, kw_only=True, tag="overflow"):
    """The prompt did not fit the model: the window is cut before the next call."""

    text: str


class FailedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The run ends without an answer; `text` is what its person is told."""

    text: str


class UndeliveredEntry(msgspec.Struct, frozen=True, kw_only=True, tag="undelivered"):
    """A message of this session did not arrive, which its next run is told."""

    text: str


class DeniedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="denied"):
    """A call that no run waits for any more was denied, which the session's next run is told."""

    text: str


class AuxiliaryFailedEntry(
    msgspec.Struct, frozen=True, kw_only=True, tag="auxiliary_failed", omit_defaults=True
):
    """Nothing came of an auxiliary call, and the run goes on without. `ms` and `usage`: what of the
    run it took."""

    stage: Literal["triage", "summary"]
    text: str
    ms: int = 0
    usage: Usage | None = None


class WindowResetEntry(msgspec.Struct, frozen=True, tag="window_reset"):
    """A new conversation: the model sees the log from behind this run on."""


class SummaryUndoneEntry(msgspec.Struct, frozen=True, tag="summary_undone"):
    """The last summary is out of view again."""


class PostEntry(msgspec.Struct, frozen=True, kw_only=True, tag="post", omit_defaults=True):
    """Something said unasked into this session; the model sees it as its own words. `tainted`:
    there is content from outside in it."""

    text: str
    key: str
    tainted: bool = False
    label: str = ""


class SummaryEntry(msgspec.Struct, frozen=True, kw_only=True, tag="summary", omit_defaults=True):
    """What entries `covers_from` to `upto` say in short; the model sees it in their place.
    `profile`: who summed it up; `scope`: whose words alone it holds ("": several people's), into
    whose memory `facts` of them went; `tainted`: there is content from outside in it."""

    text: str
    covers_from: int
    upto: int
    usage: Usage | None = None
    ms: int = 0
    profile: ModelProfile | None = None
    scope: str = ""
    facts: int = 0
    tainted: bool = False
    label: str = ""


class FeedbackEntry(msgspec.Struct, frozen=True, kw_only=True, tag="feedback", omit_defaults=True):
    """What a person thought of the answer of the entry's run; of several of one person the last
    counts."""

    verdict: Literal["up", "down"]
    by: str
    text: str = ""


class ErasedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="erased"):
    """The payload of entry `seq` was erased on request; with `last` those of all up to that, which
    are in the file `archive`. By QUARANTINE: it could not be read."""

    seq: int
    by: str
    last: int = 0
    archive: str = ""

    @property
    def tainted(self) -> bool:
        """Whether content from outside may have been in what nobody can read."""
        return self.by == QUARANTINE


Body: TypeAlias = (
    UserEntry
    | PromptEntry
    | ModelCallEntry
    | ReplyEntry
    | ToolStartedEntry
    | ToolResultEntry
    | ApprovalEntry
    | DecisionEntry
    | CancelEntry
    | FallbackEntry
    | OverflowEntry
    | FailedEntry
    | UndeliveredEntry
    | DeniedEntry
    | AuxiliaryFailedEntry
    | WindowResetEntry
    | SummaryUndoneEntry
    | PostEntry
    | SummaryEntry
    | RecallEntry
    | TriageEntry
    | RememberEntry
    | FeedbackEntry
    | ErasedEntry
)


class Entry(msgspec.Struct, frozen=True):
    """One row of the log; `body` is None once its payload was erased."""

    seq: int
    run_id: str
    at: float
    body: Body | None


class ChainLink(msgspec.Struct, frozen=True, kw_only=True):
    """One row as the chain sees it."""

    session_key: str
    seq: int
    run_id: str
    kind: str
    at: float
    digest: bytes


_decoder = msgspec.json.Decoder(Body)


def encode(body: Body) -> bytes:
    """The stored bytes of a payload."""
    return msgspec.json.encode(body)


def decode(payload: bytes) -> Body:
    """The payload behind stored bytes; raises RowUnreadable when they are not one."""
    try:
        body: Body = _decoder.decode(payload)
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError) as broken:
        raise RowUnreadable(f"an entry of the log cannot be read: {broken}", "entries") from broken
    return body


def kind_of(body: Body) -> str:
    """The name of an entry's kind, as stored."""
    return str(type(body).__struct_config__.tag)


def payload_digest(salt: bytes, payload: bytes) -> bytes:
    """What the chain holds instead of the payload."""
    return hashlib.sha256(salt + payload).digest()


def link_hash(previous: bytes, link: ChainLink) -> bytes:
    """The hash of a row: its header, its digest, and everything before it."""
    return hashlib.sha256(previous + msgspec.json.encode(link)).digest()
