"""The messages: what channels publish, what they deliver, and what watchers see. All frozen."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

import msgspec

SessionPolicy: TypeAlias = Literal["chat", "thread", "sender"]


def session_key(address: Address, sender_id: str, policy: SessionPolicy) -> str:
    """`channel:chat_id[:thread_id][:@sender]`, by the session policy."""
    key = f"{address.channel}:{address.chat_id}"
    if policy != "chat" and address.thread_id is not None:
        key += f":{address.thread_id}"
    return f"{key}:@{sender_id}" if policy == "sender" else key


TERMINAL = "cli"
"""The channel of the command line and of the control socket."""


WEB = "web"
"""The channel of the page and of what else comes by HTTP."""


TERMINAL_SESSION = f"{TERMINAL}:direct"
"""The session of whoever talks or asks there without naming one."""


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
    """What a command does that keeps its place among the messages of its session."""

    NEW = "new"
    COMPACT = "compact"
    COMPACT_UNDO = "compact undo"


class Role(StrEnum):
    """What a sender may do. Strangers have no role and are not let in."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"


class OutboundKind(StrEnum):
    """Why something is sent: an answer, a word from the gateway, a question, an unasked post."""

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
    """A file. `kind` is image, audio, video or document, and of ours also voice: a recording that
    is to be played as a voice message (Opus in Ogg). `ref` is the platform's handle; `size` in
    bytes as far as the platform says it.

    Once fetched, `blob` is the sha256 of its content, `path` where it lies below the workspace,
    `text` what was said in it (a transcript). `error`: why it is not here, for people.
    `recorded`: the sender spoke it, with the platform's own recorder.
    """

    kind: str
    ref: str = ""
    name: str = ""
    mime: str = ""
    size: int = 0
    blob: str = ""
    path: str = ""
    text: str = ""
    error: str = ""
    recorded: bool = False

    @property
    def coming(self) -> bool:
        """Whether it is to be fetched yet."""
        return bool(self.ref) and not (self.blob or self.error)


class Choice(msgspec.Struct, frozen=True):
    """One button: pressing it says `say` (at most 64 bytes, Telegram's limit) in the chat, as
    whoever pressed it."""

    label: str
    say: str


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a caller asked of one run besides its message. They are kept with the message and in
    the log, so that a run that resumes keeps them. None and empty mean: as configured.

    `run_id` is the run's identity, chosen by the caller. `tools` are all it may use; `tool_order`
    comes first in what the model is shown. `history` are (role, text) pairs that the model sees
    instead of the session's past. `direct`: the answer goes back to the caller and is not
    delivered anywhere. `unattended`: nobody is there who could be asked anything. `private`: it
    was begun where one person alone reads, so it has that one's memory. `digest` tells
    whether two callers asked for the same thing. `model` is asked instead of the session's. `type`
    is what a background run does, other than asking the model, with its `input` (JSON). `approve`:
    whoever asked wants to agree to every call that no rule of the configuration allows.
    `extra_instructions` stand at the end of the system prompt.
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
    """What is enough for a message of a program; `address` and `text` hold it."""

    if TYPE_CHECKING:
        channel: str = ""
        chat_id: str = ""
        content: str = ""
    else:
        channel = property(lambda self: self.address.channel)
        chat_id = property(lambda self: self.address.chat_id)
        content = property(lambda self: self.text)


class InboundMessage(_Short, frozen=True, kw_only=True, omit_defaults=True):
    """One message as a channel received it; of a program, InboundMessage(channel, chat_id, content)
    is enough.

    `dedupe_key` is unique within the chat and the same whenever the platform delivers the same
    thing again; it differs from `message_id` for edits and button presses. `sent_at` is unix
    seconds by the platform's clock.

    `reply_to` is the message_id that it answers, `quote` what stands there. `edit_of` is the
    dedupe_key of the message that this is a new version of. `pressed`: a button was pressed, and
    `text` is what it says. `reaction`: `text` is the emoji that somebody put to the message
    `reply_to`. `group`: several people read there; `addressed`: the bot is meant (by a mention, a
    reply to it, or because they are alone). `unseen`: nobody there but its sender sees it, as
    commands of some platforms. `tainted`: it is not only its sender who speaks in it. `command` is
    set by the gateway, for what no model is to answer. `label`: see nanobot.labels.
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


_MAX_AHEAD_SECONDS = 86_400.0
_MAX_FILE_BYTES = 2**53


def plausible(message: InboundMessage, now: float) -> InboundMessage:
    """The message with numbers that can be: sent now if it claims a time that is not finite, before
    1970 or more than a day ahead; files of 0 to 2**53 bytes."""
    is_plausible = 0 <= message.sent_at <= now + _MAX_AHEAD_SECONDS  # NaN is not
    files = tuple(
        msgspec.structs.replace(file, size=min(max(file.size, 0), _MAX_FILE_BYTES))
        for file in message.attachments
    )
    sent_at = message.sent_at if is_plausible else now
    return msgspec.structs.replace(message, sent_at=sent_at, attachments=files)


class OutboundMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message owed to a chat. `text` is Markdown; `key` is unique for ever. `direct`: its
    caller waits for it and has it with the run's end, so that nothing is left to deliver.
    `replaces`: the key of an earlier message that it takes the place of; it is not sent where that
    cannot be done. `tainted`: there is content from outside in it. `requested`: a post that its
    chat asked for, so that no limit of what is said unasked holds it back. `failed`: it says why
    there is no answer. `only_for`: the id of the person whom alone it concerns; where the platform
    can, nobody else sees it. `discreet`: elsewhere it is not sent at all. `run_id`: whose answer it
    is, of which people may say what they think."""

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


PREVIEW = ":p"
"""How the keys of parts end that are shown before their message is whole."""


class Step(msgspec.Struct, frozen=True):
    """A stretch of what a run has done so far: it said `text`, or called the `tool`, which has
    returned if it is `done`."""

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
    """What an event carries, by its kind (docs/library.md has the table)."""

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
    """Something a watcher may want to see; never stored, may be dropped for a slow watcher.

    `seq` counts within the run as one process tells of it, also over a wait for a person.
    `model_call` counts attempts, so a watcher that sees it grow drops the deltas of the call
    before.
    """

    run_id: str
    session_key: str
    model_call: int
    seq: int
    kind: EventKind
    at: float
    payload: RunPayload
