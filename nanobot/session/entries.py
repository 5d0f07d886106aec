"""The log of a session: typed entries, append-only, hash-chained.

History, checkpoint, audit and usage are all views of it. The chain hashes each row's header and a
salted digest of its payload, so a payload can be erased and the chain stays valid. An entry's
`label` says who said it and how private it is (see nanobot.labels).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import msgspec

from nanobot.errors import RowUnreadable
from nanobot.messages import Address, Attachment, LaneCommand, Origin, Role, RunOptions
from nanobot.providers.base import Effort, FinishReason, ModelProfile, NativeAnswer, ToolCall, Usage
from nanobot.text import Sentence


class RecallEntry(msgspec.Struct, frozen=True, kw_only=True, tag="recall", omit_defaults=True):
    """What memory added to the run's messages before its first model call. `memories`: ids."""

    text: str
    memories: tuple[int, ...] = ()
    tainted: bool = False
    label: str = ""
    ms: int = 0


class TriageEntry(msgspec.Struct, frozen=True, kw_only=True, tag="triage", omit_defaults=True):
    """A decision made before the run acts."""

    decision: str
    """reply, run, reply_and_run, or act for none of these."""
    reply: str = ""
    run_to_start: str = msgspec.field(default="", name="wanted")
    """The background run's request as JSON."""
    key: str = ""
    """Ensures that only one run starts."""
    confidence: float = 0.0
    reason: str = ""
    usage: Usage | None = None
    ms: int = 0
    profile: ModelProfile | None = None
    """The model that decided."""


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
QUARANTINE = "quarantine"
"""`by` of an entry that was erased because it could not be read."""


class UserEntry(msgspec.Struct, frozen=True, kw_only=True, tag="user", omit_defaults=True):
    """One message in the log. `sent_at` and `zone` tell the model the time."""

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
    """The text it replies to."""
    edited: bool = False
    """It replaces the person's earlier text."""
    attachments: tuple[Attachment, ...] = ()
    origin: Origin = Origin.USER
    steered: bool = False
    group: bool = False
    """Several people read the chat."""
    tainted: bool = False
    """It contains content from outside."""
    label: str = ""
    command: LaneCommand | None = None
    options: RunOptions | None = msgspec.field(default=None, name="terms")
    kept: str = ""
    """As in InboundMessage."""


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
    """What a model call gave."""

    call: int
    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage | None = None
    ms: int = 0
    partial: bool = False
    """It was cut off and never acted upon, by a cancel or (`cut_by_limit`) because the run's
    seconds were over."""
    cut_by_limit: bool = False
    first_ms: int = 0
    """Until the first piece of it came."""
    native: NativeAnswer | None = None
    """See NativeAnswer."""
    request: str = ""
    """The digest of the request's bytes ("" in older logs), by which a replay is compared."""


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
    """The result of a tool call, or why it was not made."""

    call: int
    index: int
    name: str
    text: str
    ok: bool = True
    ms: int = 0
    tainted: bool = False
    """Contains content from outside."""
    label: str = ""
    attachments: tuple[Attachment, ...] = ()
    """Pictures it returned, and texts that are kept apart."""
    addresses: tuple[str, ...] = ()
    """Web addresses that it found or read."""
    facts: Mapping[str, str] = {}
    """About the call, for people."""
    usage: Usage | None = None
    """Of its own model calls."""
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
    model. `ms`: how long the failed attempt took. `usage`: estimated, if its answer had begun."""

    text: Sentence
    ms: int = 0
    usage: Usage | None = None


class OverflowEntry(msgspec.Struct, frozen=True, kw_only=True, tag="overflow"):
    """The prompt was too long for the model. The window is cut before the next call."""

    text: Sentence


class FailedEntry(msgspec.Struct, frozen=True, kw_only=True, tag="failed", omit_defaults=True):
    """The run ends without an answer. `text`: for the sender. `usage`: as of FallbackEntry."""

    text: Sentence
    usage: Usage | None = None


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
    """A summary that the model sees instead of entries `covers_from` to `upto`."""

    text: str
    covers_from: int
    upto: int
    usage: Usage | None = None
    ms: int = 0
    profile: ModelProfile | None = None
    """The model that wrote it."""
    scope: str = ""
    """The only person whose messages it covers ("": several); `facts` about them went into their
    memory."""
    facts: int = 0
    tainted: bool = False
    """It contains content from outside."""
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
    to `entry`."""

    session: str
    run: str
    entry: int
    head: str
    """The hash of that chain at that entry, in hexadecimal."""
    by: str
    otherwise: str
    """What happens to calls that the run has not made."""
    results: dict[str, str] = {}
    """Given results, by tool."""


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
