"""The port to tools: a name, a schema from a typed struct, an effect, and one call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from nanobot.errors import ToolError
from nanobot.labels import NOTHING, Label
from nanobot.messages import (
    TERMINAL,
    TERMINAL_SESSION,
    Address,
    Attachment,
    Origin,
    OutboundMessage,
    Role,
)
from nanobot.providers.base import ModelProfile, ToolCall, Usage
from nanobot.session.auxiliary import CallAccount
from nanobot.session.entries import Entry
from nanobot.session.labelling import rights
from nanobot.session.store_write import StoreWrite


class Effect(StrEnum):
    """What a call changes, which decides what a crash during it means.

    none: nothing; it can be repeated freely. store: only rows, committed with the result, or for
    messages before it under the call's key, so the outcome is always known. world: anything else; a
    started call without a result becomes "interrupted, outcome unknown" and the model decides.
    """

    NONE = "none"
    STORE = "store"
    WORLD = "world"


class Desk(Protocol):
    """Stores a call's files and queues its messages."""

    async def keep(self, data: bytes, name: str, mime: str = "") -> Attachment:
        """Store a file. Raises ToolError if it is empty or too large."""

    def send(self, text: str, *files: Attachment) -> None:
        """Send a message to the run's chat."""


class CallContext(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances of a call. `key` identifies the call: run, model call, index."""

    run_id: str
    session_key: str
    address: Address
    sender_id: str
    role: Role
    key: str
    private: bool = False
    """Only one person reads this chat."""
    tainted: bool = False
    """The run has seen untrusted content, which may be the cause of this call."""
    label: Label = NOTHING
    """Who contributed to what the run has seen, and how private that is."""
    account: CallAccount | None = None
    """Where model calls of the tool are charged; what settles them belongs into the `writes` of the
    ToolOutput."""
    approved: bool = False
    """A person approved exactly this call, or a rule of the configuration allows it."""
    origin: Origin = Origin.USER
    """The source of the message that the run answers."""
    logged: bool = False
    """The result goes into a session's log, so that files kept for it are removed with the log."""
    entries: Sequence[Entry] = ()
    """The log entries that the model sees."""
    desk: Desk | None = None
    """Receives the arguments of `keep` and `send`."""

    async def keep(self, data: bytes, name: str, mime: str = "") -> Attachment:
        """Store a file made by the call, to `send` it or to return it in `attachments`; without
        `mime` the file name's suffix determines the type. The file is removed with the log that
        refers to it. Raises ToolError if no file can be stored.
        """
        return await self._at_desk().keep(data, name, mime)

    def send(self, text: str = "", *files: Attachment) -> None:
        """Send a message to the run's chat when the call returns, with stored files. It is sent
        exactly once, also across crashes, and its receipt becomes the call's result. A tool that
        sends must have the effect `store` or `world`. A call that raises sends nothing.
        """
        self._at_desk().send(text, *files)

    def _at_desk(self) -> Desk:
        if self.desk is None:
            raise ToolError("files cannot be kept and messages cannot be sent here")
        return self.desk

    @property
    def trusted(self) -> bool:
        """Whether only an owner can be behind the call."""
        return self.rights is Role.OWNER and not self.tainted

    @property
    def rights(self) -> Role:
        """The role by which calls are judged: the lowest role among the people who spoke here."""
        return rights(self.label, self.role)

    @property
    def alone(self) -> bool:
        """Whether the call is for an owner in a chat without other readers, so that owners' data
        may be shown.
        """
        return self.private and self.role is Role.OWNER


def direct_call(identity: str) -> CallContext:
    """A call made by a program itself, with an owner's role."""
    return CallContext(
        run_id="",
        session_key=TERMINAL_SESSION,
        address=Address(TERMINAL, "direct"),
        sender_id="local",
        role=Role.OWNER,
        key=f"direct:{identity}",
    )


Args = TypeVar("Args", bound=msgspec.Struct)


class RawArgs(msgspec.Struct, frozen=True):
    """Arguments of a tool with its own JSON schema."""

    values: dict[str, Any]


class Question(msgspec.Struct, frozen=True):
    """A question that a call puts to the person instead of acting itself."""

    text: str
    choices: tuple[str, ...] = ()


class ToolOutput(msgspec.Struct, frozen=True):
    """The result of a call: its text and, if its effect is `store`, the messages and rows to commit
    with it."""

    text: str
    messages: tuple[OutboundMessage, ...] = ()
    tainted: bool = False
    """This result is untrusted content."""
    writes: tuple[StoreWrite, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    """Images, already stored as blobs, shown with the text to models that accept images."""
    failed: bool = False
    """The call failed, like a ToolError, but with attachments."""
    addresses: tuple[str, ...] = ()
    """The web addresses that the call found or read."""
    label: Label = NOTHING
    """Additional information on who wrote the content and how private it is."""
    facts: Mapping[str, str] = {}
    """How the call was made, for those who look into it later, such as the session of a server. The
    log keeps them with the result, and no model sees them."""
    usage: Usage | None = None
    """Of model calls that the tool made."""
    profile: ModelProfile | None = None


class ResultFilter(Protocol):
    """Changes the result of a call before it is recorded and the model sees it."""

    async def __call__(self, tool: str, output: ToolOutput, context: CallContext) -> ToolOutput:
        """The result that takes the place of `output`, whose `tainted` says whether it may contain
        content from outside. Its text is complete, without known secrets. If this raises, the call
        fails, so that nothing unfiltered is recorded."""


class Tool(msgspec.Struct, Generic[Args], frozen=True, kw_only=True):
    """One tool.

    `risk` applies if no policy rule names the tool; by default it is high for effects on the world
    and low otherwise. `question` turns a call into a question for a person, whose answer is the
    result."""

    name: str
    description: str
    args: type[Args]
    """A msgspec Struct: its fields (with `msgspec.Meta` descriptions) are the schema, and `run`
    gets a validated instance. With `parameters` it is RawArgs, validated only for the simple parts
    of that schema."""
    run: Callable[[Args, CallContext], Awaitable[str | ToolOutput]]
    """Returns the text for the model (a ToolOutput if the effect is `store` and there is something
    to send) and raises ToolError for errors that the model can correct."""
    effect: Effect
    timeout: float = 30.0
    """In seconds."""
    allowed: frozenset[Role] = frozenset({Role.OWNER, Role.MEMBER})
    """The set of roles that may use the tool."""
    rest: str = "Ask for a smaller part to see it."
    """Tells the model how to read the omitted part of a result that is too long."""
    taints: bool | Callable[[Args, CallContext], bool] = True
    """Its results and errors may contain untrusted content (web pages, other people's systems)
    whose instructions must not be followed. A run that has seen such content is held to stricter
    rules. False promises that they never do; a function decides for each call."""
    sends: Callable[[Args, CallContext], bool] | None = None
    """Whether a call may send data that the run has read to the outside."""
    risk: Literal["low", "high"] | None = None
    uncontained: Callable[[], Awaitable[str | None]] | None = None
    """Returns why a call would not stay within the sandbox, None if it does."""
    question: Callable[[Args], Question] | None = None
    elsewhere: Callable[[Args, CallContext], bool] | None = None
    """Whether a call posts to another chat."""
    danger: Callable[[Args], str] | None = None
    """Returns why the call itself is dangerous, phrased to follow "because", or "" if no danger is
    known."""
    needs_approval: Callable[[Args, CallContext], Awaitable[str]] | None = None
    """Returns why this call needs approval, phrased to follow "because", or "" if it does not. For
    checks that the arguments alone cannot decide."""
    reached: Callable[[Args], str] | None = None
    """The workspace file that a call accesses, with links resolved; the policy judges it in
    addition to the argument `path`."""
    typed: Callable[[Mapping[str, Any], CallContext], bool] | None = None
    """Whether a call with these arguments does only what its person typed in the message that the
    run answers. For tools of nanobot."""
    host: Callable[[Args], str] | None = None
    """The internet host that a call contacts. An "always" permission for it covers every call to
    that host."""
    parameters: dict[str, Any] | None = None
    """A JSON schema from another source, shown unchanged."""
    lazy: bool = False
    """If there are many such tools, the prompt does not list them, and the model finds them with
    `find_tools`."""
    stands_for: Callable[[ToolCall], ToolCall] | None = None
    """The call of another tool that a call of this one represents, or the call itself."""
    version: str = ""
    """The digest of the tool's description and schema, if another program wrote them. An approved
    call is made only if the version is still the same."""
    unaccepted: str = ""
    """Why an owner has to accept this version first, phrased to follow "because". No prompt lists
    such a tool, and each of its calls needs an approval."""


AnyTool = Tool[Any]


class ToolExecutor(Protocol):
    """Runs a program's tools instead of their own functions."""

    async def execute(self, tool: AnyTool, args: Any, context: CallContext) -> str | ToolOutput:
        """The result of a call with validated arguments. Without an executor, it is the result of
        `await tool.run(args, context)`. Raises ToolError for errors that the model can correct.
        """
