"""The log of a session: typed entries, append-only, hash-chained.

History, checkpoint, audit and usage are all views of it. The chain hashes each row's header and a
salted digest of its payload, so a payload can be erased and the chain stays valid. An entry's
`label` says who said it and how private it is (see nanobot.labels).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import msgspec

from nanobot.errors import RowUnreadable
from nanobot.messages import Address, Attachment, LaneCommand, Origin, Role, RunOptions
from nanobot.providers.base import FinishReason, ModelProfile, NativeAnswer, ToolCall, Usage
from nanobot.providers.effort import Effort
from nanobot.text import Sentence


class RecallEntry(msgspec.Struct, frozen=True, kw_only=True, tag="recall", omit_defaults=True):
    """What memory added to the run's messages before its first model call. `memories`: ids."""

    text: str
    memories: tuple[int, ...] = ()
    tainted: bool = False
    label: str = ""
    ms: int = 0


class TriageEntry(msgspec.Struct, frozen=True, kw_only=True, tag="triage", omit_defaults=True):
    """A decision made before the run acts. `decision`: reply, run, reply_and_run, or act for none
    of these. `run_to_start`: the background run's request as JSON; `key` ensures that only one run
    starts. `profile`: the model that decided."""

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
    """What memory keeps of entries `first` to `upto`; empty if they hold nothing worth keeping.
    `profile`: the model that summarized them."""

    text: str
    first: int
    upto: int
    usage: Usage | None = None
    profile: ModelProfile | None = None


CUT_OFF = "interrupted, outcome unknown"
"""So begins the result of a call that a crash cut off."""
GENESIS = b"\0" * 32
QUARANTINE = "quarantine"
"""`by` of an entry that was erased because it could not be read."""


class UserEntry(msgspec.Struct, frozen=True, kw_only=True, tag="user", omit_defaults=True):
    """One message in the log. `sent_at` and `zone` tell the model the time. `quote`: the text it
    replies to. `edited`: it replaces the person's earlier text. `group`: several people read the
    chat. `tainted`: it contains content from outside. `kept`: as in InboundMessage."""

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
    kept: str = ""


class PromptEntry(msgspec.Struct, frozen=True, kw_only=True, tag="prompt"):
    """The snapshot (system prompt and tools) that model calls use from this entry on."""

    digest: str
    prompt_variant: str


class ModelCallEntry(
    msgspec.Struct, frozen=True, kw_only=True, tag="model_call", omit_defaults=True
):
    """Written before a model call over the entries from `window_from` to this one."""

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


class ObjectionEntry(msgspec.Struct, frozen=True, kw_only=True, tag="objection"):
    """Why the reply of that `call` is not given as the answer: the model is asked again, once in a
    run. `by`: the plugin whose check said so."""

    call: int
    text: str
    by: str


class ToolStartedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="tool_started"):
    """Written before a call that affects the outside world."""

    call: int
    index: int
    name: str


class ToolResultEntry(
    msgspec.Struct, frozen=True, kw_only=True, tag="tool_result", omit_defaults=True
):
    """The result of a tool call, or why it was not made. `tainted`: contains content from outside.
    `attachments`: pictures it returned, and texts that are kept apart. `addresses`: web addresses
    that it found or read. `usage`: of its own model calls. `facts`: about the call, for people."""

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
    facts: Mapping[str, str] = {}
    usage: Usage | None = None
    profile: ModelProfile | None = None


class ApprovalEntry(msgspec.Struct, frozen=True, kw_only=True, tag="approval", omit_defaults=True):
    """Written before a person is asked to approve a call. `digest` identifies the exact call,
    `version` the tool's description, if another program wrote it; `rule` of the policy asks."""

    id: int
    call: int
    index: int
    digest: str
    version: str = ""
    rule: str = ""


class DecisionEntry(msgspec.Struct, frozen=True, kw_only=True, tag="decision"):
    """The decision (`verdict`: approved, denied, answered or expired), and who made it."""

    id: int
    verdict: str
    by: str


class CancelEntry(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """A person stopped the run."""

    by: str


class FallbackEntry(msgspec.Struct, frozen=True, kw_only=True, tag="fallback", omit_defaults=True):
    """A model failed, as `text` explains, and retries did not help. The run uses the next fallback
    model. `ms`: how long the failed attempt took."""

    text: Sentence
    ms: int = 0


class OverflowEntry(msgspec.Struct, frozen=True, kw_only=True, tag="overflow"):
    """The prompt was too long for the model. The window is cut before the next call."""

    text: Sentence


class FailedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The run ends without an answer. `text` is shown to the sender."""

    text: Sentence


class UndeliveredEntry(msgspec.Struct, frozen=True, kw_only=True, tag="undelivered"):
    """Tells the session's next run that one of its messages was not delivered."""

    text: str


class DeniedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="denied"):
    """Tells the session's next run that a call was denied which no run waits for any more."""

    text: str


class AuxiliaryFailedEntry(
    msgspec.Struct, frozen=True, kw_only=True, tag="auxiliary_failed", omit_defaults=True
):
    """An auxiliary call failed; the run continues without it. `ms`, `usage`: charged to the run."""

    stage: Literal["triage", "summary"]
    text: Sentence
    ms: int = 0
    usage: Usage | None = None


class WindowResetEntry(msgspec.Struct, frozen=True, tag="window_reset"):
    """Starts a new conversation: the model sees only entries after this run."""


class SummaryUndoneEntry(msgspec.Struct, frozen=True, tag="summary_undone"):
    """Removes the latest summary from the model's view."""


class PostEntry(msgspec.Struct, frozen=True, kw_only=True, tag="post", omit_defaults=True):
    """A message sent unasked; the model sees it as its own. `tainted`: has content from outside."""

    text: str
    key: str
    tainted: bool = False
    label: str = ""


class SummaryEntry(msgspec.Struct, frozen=True, kw_only=True, tag="summary", omit_defaults=True):
    """A summary that the model sees instead of entries `covers_from` to `upto`. `profile`: the
    model that wrote it. `scope`: the only person whose messages it covers ("": several); `facts`
    about them went into their memory. `tainted`: it contains content from outside."""

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
    """A person's rating of the run's answer. Each person's latest rating counts."""

    verdict: Literal["up", "down"]
    by: str
    text: str = ""


class ErasedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="erased"):
    """The payload of entry `seq` was erased. With `last`, all payloads from `seq` to `last` were;
    they are in the file `archive`. By QUARANTINE: the payload could not be read."""

    seq: int
    by: str
    last: int = 0
    archive: str = ""

    @property
    def tainted(self) -> bool:
        """Whether the erased content may have come from outside."""
        return self.by == QUARANTINE


class ForkEntry(msgspec.Struct, frozen=True, kw_only=True, tag="fork", omit_defaults=True):
    """The first entry of a fork: the run `run` of `session`, of whose log it shares the entries up
    to `entry`. `head`: the hash of that chain at that entry, in hexadecimal. `otherwise`: what
    happens to calls that the run has not made; `results`: given results, by tool."""

    session: str
    run: str
    entry: int
    head: str
    by: str
    otherwise: str
    results: dict[str, str] = {}


Body: TypeAlias = (
    UserEntry
    | PromptEntry
    | ModelCallEntry
    | ReplyEntry
    | ObjectionEntry
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
    | ForkEntry
    | ErasedEntry
)


class Entry(msgspec.Struct, frozen=True):
    """One row of the log. `body` is None once its payload is erased."""

    seq: int
    run_id: str
    at: float
    body: Body | None


class ChainLink(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a row that the chain hashes."""

    session_key: str
    seq: int
    run_id: str
    kind: str
    at: float
    digest: bytes


_decoder = msgspec.json.Decoder(Body)


def encode(body: Body) -> bytes:
    """Encode an entry as its stored bytes."""
    return msgspec.json.encode(body)


def decode(payload: bytes) -> Body:
    """Decode stored bytes. Raises RowUnreadable if they are not a valid payload."""
    try:
        body: Body = _decoder.decode(payload)
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError) as broken:
        raise RowUnreadable(f"an entry of the log cannot be read: {broken}", "entries") from broken
    return body


def kind_of(body: Body) -> str:
    """The name of an entry's type, as stored."""
    return str(type(body).__struct_config__.tag)


def kinds() -> list[str]:
    """The names of all types of entries that this version knows."""
    return [str(body.__struct_config__.tag) for body in get_args(Body)]


def payload_digest(salt: bytes, payload: bytes) -> bytes:
    """The digest that the chain hashes in place of the payload."""
    return hashlib.sha256(salt + payload).digest()


def link_hash(previous: bytes, link: ChainLink) -> bytes:
    """Hash a row: its header, its payload's digest, and the hash of the previous row."""
    return hashlib.sha256(previous + msgspec.json.encode(link)).digest()
