"""The lines of the control socket: the requests of a client and the answers, one JSON object each.
`nanobot.plugins.control.control` documents access and semantics.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from nanobot.messages import Choice, OutboundKind, RunEvent
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.session.quarantine import Quarantined

LINE_LIMIT = 16 * 1024 * 1024
"""The most bytes of one line: a message of a million characters, every one escaped, still fits."""


class Attach(msgspec.Struct, frozen=True, tag="attach", tag_field="op"):
    """Attach to this session: receive its events, and the messages of chat `cli:NAME`. `language`:
    the person's, as the environment names it ("zh_CN.UTF-8")."""

    session: str
    name: str = ""
    language: str = ""


class Say(msgspec.Struct, frozen=True, tag="say", tag_field="op"):
    """A message. The same `key` is accepted only once."""

    text: str
    key: str
    attended: bool = True
    """A person is present who can be asked for approval; if not, the message gets a separate run,
    with `key` as its id."""
    images: tuple[str, ...] = ()
    """Absolute paths of attached pictures: any client that may open this socket may read every file
    that this process can."""
    files: tuple[str, ...] = ()
    """Those whose content is in the text."""
    outside: bool = False
    """The text contains something that no person typed."""


class Displayed(msgspec.Struct, frozen=True, tag="shown", tag_field="op"):
    """The message with this key was shown to the person."""

    key: str


class CallOperation(msgspec.Struct, frozen=True, tag="call", tag_field="op"):
    """Perform an operation (see nanobot.operations). `key` is returned with the result. `program`:
    another program calls, not the owner."""

    name: str
    arguments: dict[str, Any] = {}
    key: str = ""
    program: bool = False


class StartRun(msgspec.Struct, frozen=True, tag="run", tag_field="op"):
    """Request a run as a program does (common/runs): its events are sent, then `answered`.
    `program`: another program sends it, not the owner.
    """

    input: RunInput
    program: bool = False


class AbortRun(msgspec.Struct, frozen=True, tag="abort", tag_field="op"):
    """End a run that a program requested or, for an attached client, the run of one of its
    messages.
    """

    run_id: str


class Hello(msgspec.Struct, frozen=True, tag="hello", tag_field="op"):
    """Attached. The session's log had `entries` entries before, the last of them written at
    `changed_at` (unix seconds)."""

    pid: int
    session: str
    model: str
    """A line about the current model, or about its problem."""
    gateway: bool = True
    """It serves until it is stopped; otherwise a terminal serves, only until its person leaves."""
    entries: int = 0
    changed_at: float = 0.0


class Taken(msgspec.Struct, frozen=True, tag="taken", tag_field="op"):
    """The message is on disk. `answered`: its answer is a separate message, not the answer of a
    run."""

    key: str
    inbound_id: int
    answered: bool
    stopped: bool


class PeerMessage(msgspec.Struct, frozen=True, tag="peer", tag_field="op"):
    """A message of another client in the session, and how it was accepted."""

    text: str
    taken: Taken


class EventLine(msgspec.Struct, frozen=True, tag="event", tag_field="op"):
    """An event of the session's run."""

    event: RunEvent


class ShowMessage(msgspec.Struct, frozen=True, tag="message", tag_field="op"):
    """A message to display, to be confirmed afterwards. `choices` are possible answers."""

    key: str
    kind: OutboundKind
    text: str
    choices: tuple[Choice, ...] = ()


class Result(msgspec.Struct, frozen=True, tag="result", tag_field="op"):
    """The result of an operation. `unreadable`: rows that belong in it but are unreadable."""

    name: str
    result: msgspec.Raw
    key: str = ""
    unreadable: tuple[Quarantined, ...] = ()


class Answered(msgspec.Struct, frozen=True, tag="answered", tag_field="op"):
    """A program's run has ended."""

    result: RunResult


class Aborted(msgspec.Struct, frozen=True, tag="aborted", tag_field="op"):
    """Whether this ended the run; if not, it had ended before."""

    run_id: str
    ended: bool


class Refusal(msgspec.Struct, frozen=True, tag="refused", tag_field="op"):
    """The request was invalid, or could not be performed."""

    text: str
    key: str = ""
    """The message it was about."""
    code: int = 1
    """The exit code for a command that made the request."""
    error: str = ""
    """The kind of error."""


Request: TypeAlias = Attach | Say | Displayed | CallOperation | StartRun | AbortRun
Answer: TypeAlias = (
    Hello | Taken | PeerMessage | EventLine | ShowMessage | Result | Answered | Aborted | Refusal
)


def encode(answer: Request | Answer) -> bytes:
    """Encode one object for the socket."""
    return msgspec.json.encode(answer) + b"\n"
