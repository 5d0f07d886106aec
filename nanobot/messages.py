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
    """A file. `blob`, `path` and `text` are empty until it has been fetched."""

    kind: str
    """Image, audio, video or document; in our messages also voice: a recording to be played as a
    voice message (Opus in Ogg)."""
    ref: str = ""
    """The platform's handle."""
    name: str = ""
    mime: str = ""
    size: int = 0
    """In bytes, if the platform reports it."""
    blob: str = ""
    """The sha256 of its content."""
    path: str = ""
    """Its location below the workspace."""
    text: str = ""
    """Its transcript."""
    error: Sentence = ""
    """Why it is missing, for people."""
    recorded: bool = False
    """The sender spoke it, with the platform's recorder."""

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
    run keeps them. None and empty mean: as configured."""

    run_id: str = ""
    """The run's id, chosen by the caller."""
    digest: str = ""
    """Tells whether two callers made the same request."""
    direct: bool = False
    """The answer goes to the caller and is not delivered elsewhere."""
    unattended: bool = False
    """No person can be asked anything."""
    private: bool = False
    """It was started where only one person reads, so it uses that person's memory."""
    model: str = ""
    """Overrides the session's."""
    type: str = ""
    """The work of a background run without a model."""
    input: str = ""
    """Of that work, as JSON."""
    max_iterations: int | None = None
    max_tool_rounds: int | None = None
    max_run_seconds: float | None = None
    max_tool_calls: int | None = None
    max_parallel: int | None = None
    approve: bool = False
    """The caller approves every call that no rule of the configuration allows."""
    tools: tuple[str, ...] | None = None
    """The only tools it may use."""
    tool_order: tuple[str, ...] = ()
    """Those that the model is shown first."""
    system_prompt: str | None = None
    extra_instructions: str = ""
    """Added to the end of the system prompt."""
    history: tuple[tuple[str, str], ...] | None = None
    """Pairs of role and text that replace the session's history for the model."""


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
    chat_id, content) is enough."""

    address: Address = Address("", "")
    message_id: str = ""
    dedupe_key: str = ""
    """Unique within the chat, and the same whenever the platform delivers the same thing again; it
    differs from `message_id` for edits and button presses."""
    sender: Sender = Sender("user")
    text: str = ""
    sent_at: float = 0.0
    """Unix seconds by the platform's clock."""
    attachments: tuple[Attachment, ...] = ()
    group_id: str | None = None
    reply_to: str | None = None
    """The `message_id` of the message it replies to."""
    quote: str = ""
    """That message's text."""
    edit_of: str | None = None
    """The `dedupe_key` of the message that this is a new version of, or, if `deleted`, that was
    deleted."""
    deleted: bool = False
    pressed: bool = False
    """A button was pressed, and `text` is its value."""
    reaction: bool = False
    """`text` is the emoji that a person added to the message `reply_to`."""
    group: bool = False
    """Several people read the chat."""
    addressed: bool = True
    """It is for the bot (a mention, a reply to it, or a private chat)."""
    unseen: bool = False
    """Only its sender sees it, like commands of some platforms."""
    origin: Origin = Origin.USER
    tainted: bool = False
    """Not all of it is the sender's words."""
    label: str = ""
    """See nanobot.labels."""
    command: LaneCommand | None = None
    """Set by the gateway, for messages that no model answers."""
    options: RunOptions | None = msgspec.field(default=None, name="terms")
    kept: str = ""
    """What the gateway kept of the request that brought it (`Plugin.propagation`)."""
    language: str = ""
    """The sender's, as the platform names it ("zh-hans")."""


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
    """One message to a chat."""

    address: Address
    text: str
    """Markdown."""
    key: str
    """Permanently unique."""
    kind: OutboundKind = OutboundKind.REPLY
    attachments: tuple[Attachment, ...] = ()
    reply_to: str | None = None
    choices: tuple[Choice, ...] = ()
    replaces: str = ""
    """The key of an earlier message that it replaces; if that is not possible it is not sent."""
    direct: bool = False
    """The caller gets it with the run's end, so it is not delivered."""
    tainted: bool = False
    """It contains content from outside."""
    label: str = ""
    requested: bool = msgspec.field(default=False, name="asked")
    """A post that its chat asked for, so limits on notifications do not hold it back."""
    failed: bool = False
    """It explains why there is no answer."""
    only_for: str = ""
    """The id of the only person it concerns; if the platform can, no one else sees it."""
    discreet: bool = False
    """If the platform cannot, it is not sent."""
    run_id: str = ""
    """The run whose answer it is, which people can rate."""
    own: Spans | None = None
    """Where in `text` nanobot's own words are (start and end), which are shown in the language of
    the chat; None: all of a notice, nothing of other messages."""

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
