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
        ...

    def send(self, text: str, *files: Attachment) -> None:
        """Send a message to the run's chat."""
        ...


class CallContext(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances of a call. `key` identifies the call: run, model call, index. `private`:
    only one person reads this chat. `tainted`: the run has seen untrusted content, which may be the
    cause of this call. `approved`: a person approved exactly this call, or a rule of the
    configuration allows it. `origin`: the source of the message that the run answers. `replies`:
    the tools that each model reply of the run has called so far. `logged`: the result goes into a
    session's log, so that files kept for it are removed with the log. `entries`: the log entries
    that the model sees. `label`: who contributed to them, and how private they are. `account`:
    where model calls of the tool are charged; what settles them belongs into the `writes` of the
    ToolOutput. `desk`: receives the arguments of `keep` and `send`.
    """

    run_id: str
    session_key: str
    address: Address
    sender_id: str
    role: Role
    key: str
    private: bool = False
    tainted: bool = False
    label: Label = NOTHING
    account: CallAccount | None = None
    approved: bool = False
    origin: Origin = Origin.USER
    replies: tuple[tuple[str, ...], ...] = ()
    logged: bool = False
    entries: Sequence[Entry] = ()
    desk: Desk | None = None

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
    with it. `tainted`: this result is untrusted content. `attachments` are images, already stored
    as blobs, shown with the text to models that accept images. `failed`: the call failed, like a
    ToolError, but with attachments. `addresses`: the web addresses that the call found or read.
    `label`: additional information on who wrote the content and how private it is. `usage`: of
    model calls that the tool made, with the model's `profile`. `facts`: how the call was made, for
    those who look into it later, such as the session of a server. The log keeps them with the
    result, and no model sees them.
    """

    text: str
    messages: tuple[OutboundMessage, ...] = ()
    tainted: bool = False
    writes: tuple[StoreWrite, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    failed: bool = False
    addresses: tuple[str, ...] = ()
    label: Label = NOTHING
    facts: Mapping[str, str] = {}
    usage: Usage | None = None
    profile: ModelProfile | None = None


class ResultFilter(Protocol):
    """Changes the result of a call before it is recorded and the model sees it."""

    async def __call__(self, tool: str, output: ToolOutput, context: CallContext) -> ToolOutput:
        """The result that takes the place of `output`, whose `tainted` says whether it may contain
        content from outside. Its text is complete, without known secrets. If this raises, the call
        fails, so that nothing unfiltered is recorded."""
        ...


class Tool(msgspec.Struct, Generic[Args], frozen=True, kw_only=True):
    """One tool.

    `args` is a msgspec Struct: its fields (with `msgspec.Meta` descriptions) are the schema, and
    `run` gets a validated instance. `run` returns the text for the model (a ToolOutput if the
    effect is `store` and there is something to send) and raises ToolError for errors that the model
    can correct. `timeout` is in seconds. `allowed` is the set of roles that may use the tool.
    `rest` tells the model how to read the omitted part of a result that is too long.

    `taints`: its results and errors may contain untrusted content (web pages, other people's
    systems) whose instructions must not be followed. A run that has seen such content is held to
    stricter rules. False promises that they never do; a function decides for each call. `sends`:
    whether a call may send data that the run has read to the outside. `risk` applies if no policy
    rule names the tool; by default it is high for effects on the world and low otherwise.
    `uncontained` returns why a call would not stay within the sandbox, None if it does. `question`
    turns a call into a question for a person, whose answer is the result. `elsewhere`: whether a
    call posts to another chat. `danger`: returns why the call itself is dangerous, phrased to
    follow "because", or "" if no danger is known.

    `needs_approval`: returns why this call needs approval, phrased to follow "because", or "" if it
    does not. For checks that the arguments alone cannot decide.

    `typed`: whether a call with these arguments does only what its person typed
    (`nanobot.tools.typed.Said`) in the message that the run answers. For tools of nanobot.

    `host`: the internet host that a call contacts. An "always" permission for it covers every call
    to that host.

    `reached`: the workspace file that a call accesses, with links resolved; the policy judges it in
    addition to the argument `path`.

    `parameters`: a JSON schema from another source, shown unchanged; `args` is then RawArgs,
    validated only for the simple parts of that schema. `lazy`: if there are many such tools, the
    prompt does not list them, and the model finds them with `find_tools`.

    `stands_for`: the call of another tool that a call of this one represents, or the call itself.

    `version`: the digest of the tool's description and schema, if another program wrote them. An
    approved call is made only if the version is still the same. `unaccepted`: why an owner has to
    accept this version first, phrased to follow "because". No prompt lists such a tool, and each
    of its calls needs an approval.
    """

    name: str
    description: str
    args: type[Args]
    run: Callable[[Args, CallContext], Awaitable[str | ToolOutput]]
    effect: Effect
    timeout: float = 30.0
    allowed: frozenset[Role] = frozenset({Role.OWNER, Role.MEMBER})
    rest: str = "Ask for a smaller part to see it."
    taints: bool | Callable[[Args, CallContext], bool] = True
    sends: Callable[[Args, CallContext], bool] | None = None
    risk: Literal["low", "high"] | None = None
    uncontained: Callable[[], Awaitable[str | None]] | None = None
    question: Callable[[Args], Question] | None = None
    elsewhere: Callable[[Args, CallContext], bool] | None = None
    danger: Callable[[Args], str] | None = None
    needs_approval: Callable[[Args, CallContext], Awaitable[str]] | None = None
    reached: Callable[[Args], str] | None = None
    typed: Callable[[Mapping[str, Any], Any], bool] | None = None
    host: Callable[[Args], str] | None = None
    parameters: dict[str, Any] | None = None
    lazy: bool = False
    stands_for: Callable[[ToolCall], ToolCall] | None = None
    version: str = ""
    unaccepted: str = ""


AnyTool = Tool[Any]


class ToolExecutor(Protocol):
    """Runs a program's tools instead of their own functions."""

    async def execute(self, tool: AnyTool, args: Any, context: CallContext) -> str | ToolOutput:
        """The result of a call with validated arguments. Without an executor, it is the result of
        `await tool.run(args, context)`. Raises ToolError for errors that the model can correct.
        """
        ...
