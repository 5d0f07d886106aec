"""The port to tools: a name, a schema from a typed struct, an effect, and one call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
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
from nanobot.session.entries import Entry
from nanobot.session.labelling import rights
from nanobot.session.store_write import StoreWrite


class Effect(StrEnum):
    """What a call leaves behind, and so what a crash in it means.

    none: nothing, it is run again freely. store: rows only, committed with the result or, for
    messages, under the call's key before it, so never unknown. world: anything else; a started
    call without a result becomes "interrupted, outcome unknown" and the model decides.
    """

    NONE = "none"
    STORE = "store"
    WORLD = "world"


class Desk(Protocol):
    """Where a call keeps files, and puts what it sends."""

    async def keep(self, data: bytes, name: str, mime: str = "") -> Attachment:
        """Keep a file. Raises ToolError for one that is empty or too large."""
        ...

    def send(self, text: str, *files: Attachment) -> None:
        """Send a message to the chat of the run."""
        ...


class CallContext(msgspec.Struct, frozen=True, kw_only=True):
    """For whom a call runs. `key` is the call's identity: run, model call, index. `private`:
    one person alone reads in this chat. `tainted`: the run has seen what came from outside, which
    may be what asks for this call. `approved`: a person has agreed to exactly this call, or a rule
    of the configuration allows it. `origin`: what the run answers. `replies`: which tools
    each answer of its model so far asked for. `logged`: the result goes into a session's log, so
    that files kept for it are removed with it. `entries`: what of that log the model sees,
    `label`: who spoke into that, and how private it is. `desk`: where
    `keep` and `send` put what they are given."""

    run_id: str
    session_key: str
    address: Address
    sender_id: str
    role: Role
    key: str
    private: bool = False
    tainted: bool = False
    label: Label = NOTHING
    approved: bool = False
    origin: Origin = Origin.USER
    replies: tuple[tuple[str, ...], ...] = ()
    logged: bool = False
    entries: Sequence[Entry] = ()
    desk: Desk | None = None

    async def keep(self, data: bytes, name: str, mime: str = "") -> Attachment:
        """Keep a file that the call made, to `send` it or to return it in `attachments`; without
        `mime` the suffix of the name says what it is. It is removed with the log that names it.
        Raises ToolError where no file can be kept."""
        return await self._at_desk().keep(data, name, mime)

    def send(self, text: str = "", *files: Attachment) -> None:
        """Send a message to the chat of the run once the call returns, with files that were kept.
        It is sent once, whatever crashes, and its receipt becomes the call's result. A tool that
        sends has the effect `store` or `world`. A call that raises sends nothing."""
        self._at_desk().send(text, *files)

    def _at_desk(self) -> Desk:
        if self.desk is None:
            raise ToolError("files cannot be kept and messages cannot be sent here")
        return self.desk

    @property
    def trusted(self) -> bool:
        """Whether nobody but an owner can be behind what is asked for."""
        return self.rights is Role.OWNER and not self.tainted

    @property
    def rights(self) -> Role:
        """The role that calls are judged by: that of the least of those who spoke here."""
        return rights(self.label, self.role)

    @property
    def alone(self) -> bool:
        """Whether it is for an owner with nobody else reading: what is the owners' may be shown."""
        return self.private and self.role is Role.OWNER


def direct_call(identity: str) -> CallContext:
    """A call that a program makes itself, as an owner's."""
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
    """Arguments of a tool that brings its own JSON schema."""

    values: dict[str, Any]


class Question(msgspec.Struct, frozen=True):
    """What a call puts to the person instead of doing something itself."""

    text: str
    choices: tuple[str, ...] = ()


class ToolOutput(msgspec.Struct, frozen=True):
    """The result of a call: its text and, if its effect is `store`, the messages to chats and rows
    that are committed with it. `tainted`: this one result is content from outside. `attachments`
    are pictures, kept as blobs already, that models are shown with the text if they see. `failed`:
    as a ToolError, for a failure that comes with attachments. `addresses`: what of the web the call
    found or read. `label`: what is known of who said it and how private it is, besides."""

    text: str
    messages: tuple[OutboundMessage, ...] = ()
    tainted: bool = False
    writes: tuple[StoreWrite, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    failed: bool = False
    addresses: tuple[str, ...] = ()
    label: Label = NOTHING


class Tool(msgspec.Struct, Generic[Args], frozen=True, kw_only=True):
    """One tool.

    `args` is a msgspec Struct: its fields (with `msgspec.Meta` descriptions) are the schema, and
    `run` gets a validated instance. It returns the text for the model (a ToolOutput with what is to
    be sent, if its effect is `store`) and raises ToolError for what the model can mend. `timeout`
    is in seconds. `allowed` is the set of roles that may use it at all. `rest` is what a result too
    long to show says about reading what was left out.

    `taints`: its results, errors too, may be content from outside (the web, other people's
    systems), which must not be obeyed; a run that has seen some is held to stricter rules. False is
    the promise that they never are; a function decides it for each call. `sends`: whether a call
    may carry what the run has read to somebody outside. `risk` is for the policy where no rule
    names the tool; unset, it is high for effects on the world and low otherwise.
    `uncontained` says why a call would not stay within the sandbox, None if it does. `question`
    makes of a call what a person is asked, whose answer is the result. `elsewhere`: whether a call
    says something in another chat. `danger`: what is dangerous about a call in itself, as it ends a
    sentence that begins with "because"; empty if nothing is known to be.

    `needs_approval`: why a person has to agree to a call, as it ends such a sentence too, where
    only looking at more than its arguments tells; empty if nobody has.

    `host`: whom on the internet a call asks; allowed for good, it is allowed for all that is asked
    there.

    `reached`: the file of the workspace that a call is about, links followed; the policy judges it
    beside the argument `path`.

    `parameters`: a JSON schema from elsewhere, shown as it is; `args` is then RawArgs, checked as
    far as that schema is plain. `lazy`: where there are many such tools, the prompt lists none of
    them, and they are found with `find_tools`.
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
    host: Callable[[Args], str] | None = None
    parameters: dict[str, Any] | None = None
    lazy: bool = False


AnyTool = Tool[Any]


class ToolExecutor(Protocol):
    """What runs the tools of a program in the place of their own functions."""

    async def execute(self, tool: AnyTool, args: Any, context: CallContext) -> str | ToolOutput:
        """The result of a call whose arguments were checked. Without an executor it is that of
        `await tool.run(args, context)`. Raises ToolError for what the model can mend."""
        ...
