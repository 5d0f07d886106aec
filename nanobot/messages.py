"""The messages that channels publish and deliver, and the events that watchers see. All frozen."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

import msgspec

from nanobot.text import Sentence, Spans

SessionPolicy: TypeAlias = Literal["chat", "thread", "sender"]


def session_key(address: Address, sender_id: str, policy: SessionPolicy) -> str:
    """`channel:chat_id[:thread_id][:@sender]`, according to the session policy."""
    key = f"{address.channel}:{address.chat_id}"
    if policy != "chat" and address.thread_id is not None:
        key += f":{address.thread_id}"
    return f"{key}:@{sender_id}" if policy == "sender" else key


TERMINAL = "cli"
"""The channel of the command line and of the control socket."""


WEB = "web"
"""The channel of the page and of other HTTP clients."""


TERMINAL_SESSION = f"{TERMINAL}:direct"
"""The session of the terminal if none is named."""


class Origin(StrEnum):
    """Where an inbound message came from. Only `user` messages steer a running run."""

    USER = "user"
    CRON = "cron"
    HEARTBEAT = "heartbeat"
    EVENT = "event"
    WEBHOOK = "webhook"
    RUN = "run"
    API = "api"
    LIFECYCLE = "lifecycle"
    APPROVAL = "approval"


class LaneCommand(StrEnum):
    """A command that keeps its place among the messages of its session."""

    NEW = "new"
    COMPACT = "compact"
    COMPACT_UNDO = "compact undo"


class Role(StrEnum):
    """What a sender may do. Strangers have no role and are not let in."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"


class OutboundKind(StrEnum):
    """Why a message is sent: an answer, a notice of the gateway, a question, an unasked post."""

    REPLY = "reply"
    NOTICE = "notice"
    APPROVAL = "approval"
    POST = "post"


class Address(msgspec.Struct, frozen=True):
    """One chat: `channel` is the name of its table in the configuration."""

    channel: str
    chat_id: str
    thread_id: str | None = None

    def __str__(self) -> str:
        tail = f":{self.thread_id}" if self.thread_id else ""
        return f"{self.channel}:{self.chat_id}{tail}"


class Sender(msgspec.Struct, frozen=True):
    """A person (or trigger) on a channel. `name` is for display only and never decides anything."""

    id: str
    name: str = ""


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file. `kind` is image, audio, video or document; in our messages also voice: a recording to
    be played as a voice message (Opus in Ogg). `ref` is the platform's handle; `size` is in bytes,
    if the platform reports it.

    After fetching, `blob` is the sha256 of its content, `path` its location below the workspace,
    and `text` its transcript. `error`: why it is missing, for people. `recorded`: the sender spoke
    it, with the platform's recorder.
    """

    kind: str
    ref: str = ""
    name: str = ""
    mime: str = ""
    size: int = 0
    blob: str = ""
    path: str = ""
    text: str = ""
    error: Sentence = ""
    recorded: bool = False

    @property
    def coming(self) -> bool:
        """Whether it still has to be fetched."""
        return bool(self.ref) and not (self.blob or self.error)


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One button. Pressing it sends `say` (at most 64 bytes, Telegram's limit) to the chat, as the
    person who pressed it. `quoted`: the label is not nanobot's own text."""

    label: Sentence
    say: str
    quoted: bool = False


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A caller's options for one run. They are stored with the message and in the log, so a resumed
    run keeps them. None and empty mean: as configured.

    `run_id` is the run's id, chosen by the caller. `tools`: the only tools it may use;
    `tool_order`: those that the model is shown first. `history`: (role, text) pairs that replace
    the session's history for the model. `direct`: the answer goes to the caller and is not
    delivered elsewhere. `unattended`: no person can be asked anything. `private`: it was started
    where only one person reads, so it uses that person's memory. `digest` tells whether two callers
    made the same request. `model` overrides the session's. `type`: the work of a background run
    without a model, with its `input` (JSON). `approve`: the caller approves every call that no rule
    of the configuration allows. `extra_instructions` are added to the end of the system prompt.
    """

    run_id: str = ""
    digest: str = ""
    direct: bool = False
    unattended: bool = False
    private: bool = False
    model: str = ""
    type: str = ""
    input: str = ""
    max_iterations: int | None = None
    max_tool_rounds: int | None = None
    max_run_seconds: float | None = None
    max_tool_calls: int | None = None
    max_parallel: int | None = None
    approve: bool = False
    tools: tuple[str, ...] | None = None
    tool_order: tuple[str, ...] = ()
    system_prompt: str | None = None
    extra_instructions: str = ""
    history: tuple[tuple[str, str], ...] | None = None


class _OfChat(msgspec.StructMeta):
    def __call__(
        self, channel: str = "", chat_id: str = "", content: str = "", **fields: object
    ) -> object:
        if "address" not in fields:
            if not (channel and chat_id):
                raise TypeError("a message has an address, or a channel and a chat_id")
            fields |= {"address": Address(channel, chat_id), "text": content}
        return super().__call__(**fields)


class _Short(msgspec.Struct, frozen=True, metaclass=_OfChat):
    """The short form for messages of programs, in `address` and `text`."""

    if TYPE_CHECKING:
        channel: str = ""
        chat_id: str = ""
        content: str = ""
    else:
        channel = property(lambda self: self.address.channel)
        chat_id = property(lambda self: self.address.chat_id)
        content = property(lambda self: self.text)


class InboundMessage(_Short, frozen=True, kw_only=True, omit_defaults=True):
    """One message as a channel received it; for a program's message, InboundMessage(channel,
    chat_id, content) is enough.

    `dedupe_key` is unique within the chat, and the same whenever the platform delivers the same
    thing again; it differs from `message_id` for edits and button presses. `sent_at` is unix
    seconds by the platform's clock.

    `reply_to`: message_id of the message it replies to; `quote`: that message's text. `edit_of`:
    dedupe_key of the message that this is a new version of, or, if `deleted`, that was deleted.
    `pressed`: a button was pressed, and `text` is its value. `reaction`: `text` is the emoji that a
    person added to the message `reply_to`. `group`: several people read the chat; `addressed`: it
    is for the bot (a mention, a reply to it, or a private chat). `unseen`: only its sender sees it,
    like commands of some platforms. `tainted`: not all of it is the sender's words. `command`: set
    by the gateway, for messages that no model answers. `label`: see nanobot.labels. `kept`: what
    the gateway kept of the request that brought it (nanobot.propagation). `language`: the sender's,
    as the platform names it ("zh-hans").
    """

    address: Address = Address("", "")
    message_id: str = ""
    dedupe_key: str = ""
    sender: Sender = Sender("user")
    text: str = ""
    sent_at: float = 0.0
    attachments: tuple[Attachment, ...] = ()
    group_id: str | None = None
    reply_to: str | None = None
    quote: str = ""
    edit_of: str | None = None
    deleted: bool = False
    pressed: bool = False
    reaction: bool = False
    group: bool = False
    addressed: bool = True
    unseen: bool = False
    origin: Origin = Origin.USER
    tainted: bool = False
    label: str = ""
    command: LaneCommand | None = None
    options: RunOptions | None = msgspec.field(default=None, name="terms")
    kept: str = ""
    language: str = ""


_MAX_AHEAD_SECONDS = 86_400.0
_MAX_FILE_BYTES = 2**53


def plausible(message: InboundMessage, now: float) -> InboundMessage:
    """The message with plausible numbers: sent now if its time is not finite, before 1970 or more
    than a day ahead; file sizes from 0 to 2**53 bytes."""
    is_plausible = 0 <= message.sent_at <= now + _MAX_AHEAD_SECONDS  # false for NaN
    files = tuple(
        msgspec.structs.replace(file, size=min(max(file.size, 0), _MAX_FILE_BYTES))
        for file in message.attachments
    )
    sent_at = message.sent_at if is_plausible else now
    return msgspec.structs.replace(message, sent_at=sent_at, attachments=files)


def deletion(address: Address, key: str) -> InboundMessage:
    """Tells that the message with this dedupe_key was deleted on its platform."""
    return InboundMessage(address=address, dedupe_key=f"deleted:{key}", edit_of=key, deleted=True)


class OutboundMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message to a chat. `text` is Markdown; `key` is permanently unique. `direct`: the caller
    gets it with the run's end, so it is not delivered. `replaces`: the key of an earlier message
    that it replaces; if that is not possible it is not sent. `tainted`: it contains content from
    outside. `requested`: a post that its chat asked for, so limits on notifications do not hold it
    back. `failed`: it explains why there is no answer. `only_for`: the id of the only person it
    concerns; if the platform can, no one else sees it. `discreet`: if the platform cannot, it is
    not sent. `run_id`: the run whose answer it is, which people can rate. `own`: where in `text`
    nanobot's own words are (start and end), which are shown in the language of the chat; None: all
    of a notice, nothing of other messages."""

    address: Address
    text: str
    key: str
    kind: OutboundKind = OutboundKind.REPLY
    attachments: tuple[Attachment, ...] = ()
    reply_to: str | None = None
    choices: tuple[Choice, ...] = ()
    replaces: str = ""
    direct: bool = False
    tainted: bool = False
    label: str = ""
    requested: bool = msgspec.field(default=False, name="asked")
    failed: bool = False
    only_for: str = ""
    discreet: bool = False
    run_id: str = ""
    own: Spans | None = None

    @property
    def own_words(self) -> Spans:
        """The parts of the text that are nanobot's own."""
        if self.own is None:
            whole = self.kind is OutboundKind.NOTICE and self.text
            return ((0, len(self.text)),) if whole else ()
        return self.own


PREVIEW = ":p"
"""Suffix of the keys of preview parts."""


class Step(msgspec.Struct, frozen=True):
    """One step of a run so far: it said `text`, or called the `tool`, which has
    returned if `done`."""

    text: str = ""
    tool: str = ""
    done: bool = False


class EventKind(StrEnum):
    """Kinds of RunEvent."""

    STATUS = "status"
    MODEL_DELTA = "model_delta"
    ASSISTANT_MESSAGE = "assistant_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    APPROVAL = "approval"
    ERROR = "error"
    END = "end"


class RunPayload(TypedDict, total=False):
    """The payload of an event, by its kind (docs/library.md has the table)."""

    state: str
    text: str
    reasoning: str
    error: str | None
    why: str
    model: str
    delay: float
    address: Address
    reply_key: str
    reply_to: str | None
    inbound_ids: list[int]
    message_ids: list[str]
    tool_calls: int
    key: str
    name: str
    arguments: str
    ok: bool
    ms: int
    first_ms: int
    id: int
    tool: str
    question: str
    choices: tuple[str, ...]
    usage: dict[str, int]
    cost: float | None


class RunEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event for watchers. It is never stored, and may be dropped for a slow watcher.

    `seq` counts the run's events in one process, also across a wait for a person. `model_call`
    counts attempts: a watcher that sees it increase drops the deltas of the call before.
    """

    run_id: str
    session_key: str
    model_call: int
    seq: int
    kind: EventKind
    at: float
    payload: RunPayload
