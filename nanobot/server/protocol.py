"""The lines of the control socket: what a client may ask, and what it is told, one JSON object
each. `nanobot.server.control` says who may ask and what becomes of it."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from nanobot.agent.library.run_input import RunInput, RunResult
from nanobot.messages import Choice, OutboundKind, RunEvent
from nanobot.session.quarantine import Quarantined

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes of one line: a message of a million characters, every one escaped, still fits."""


class Attach(msgspec.Struct, frozen=True, tag="attach", tag_field="op"):
    """Talk in this session from now on: its events, and the messages of chat `cli:NAME`."""

    session: str
    name: str = ""


class Say(msgspec.Struct, frozen=True, tag="say", tag_field="op"):
    """A message. The same `key` is taken only once. `attended`: somebody is there to be asked
    whether something may be done; if not, it has a run of its own, with `key` as its id. `images`
    are absolute paths of pictures that go with it: whoever may open this socket may read whatever
    this process can. `files` are those of files whose content is in the text; `outside`: there is
    something in the text that nobody typed."""

    text: str
    key: str
    attended: bool = True
    images: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outside: bool = False


class Displayed(msgspec.Struct, frozen=True, tag="shown", tag_field="op"):
    """The message with this key was shown to the person."""

    key: str


class CallOperation(msgspec.Struct, frozen=True, tag="call", tag_field="op"):
    """Perform an operation (see nanobot.operations). `key` comes back with what it gave."""

    name: str
    arguments: dict[str, Any] = {}
    key: str = ""


class StartRun(msgspec.Struct, frozen=True, tag="run", tag_field="op"):
    """Ask for a run as a program does (agent.library): its events come, then `answered`. `program`:
    another program speaks, and not the owner."""

    input: RunInput
    program: bool = False


class AbortRun(msgspec.Struct, frozen=True, tag="abort", tag_field="op"):
    """End a run that a program asked for, or an attached client by a message of its own."""

    run_id: str


class Hello(msgspec.Struct, frozen=True, tag="hello", tag_field="op"):
    """Attached. `model` is a line on who answers, or on what is wrong. `gateway`: it serves until
    it is stopped; a terminal only until its person leaves. `entries` of the session's log were
    there before, the last of them written at `changed_at` (unix seconds)."""

    pid: int
    session: str
    model: str
    gateway: bool = True
    entries: int = 0
    changed_at: float = 0.0


class Taken(msgspec.Struct, frozen=True, tag="taken", tag_field="op"):
    """The message is on disk. `answered`: its answer is a message of its own, not of a run."""

    key: str
    inbound_id: int
    answered: bool
    stopped: bool


class PeerMessage(msgspec.Struct, frozen=True, tag="peer", tag_field="op"):
    """What another client said in the session, and how it was taken."""

    text: str
    taken: Taken


class EventLine(msgspec.Struct, frozen=True, tag="event", tag_field="op"):
    """Something happened in the session's run."""

    event: RunEvent


class ShowMessage(msgspec.Struct, frozen=True, tag="message", tag_field="op"):
    """Something to show, and then to say so. `choices` are answers the person may give."""

    key: str
    kind: OutboundKind
    text: str
    choices: tuple[Choice, ...] = ()


class Result(msgspec.Struct, frozen=True, tag="result", tag_field="op"):
    """What an operation gave. `unreadable`: rows that belong into it and cannot be read."""

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
    """The request was not understood, or could not be done. `key`: the message it was about.
    `code` is what a command that asked for it exits with, `error` the kind of error it is."""

    text: str
    key: str = ""
    code: int = 1
    error: str = ""


Request: TypeAlias = Attach | Say | Displayed | CallOperation | StartRun | AbortRun
Answer: TypeAlias = (
    Hello | Taken | PeerMessage | EventLine | ShowMessage | Result | Answered | Aborted | Refusal
)


def encode(answer: Request | Answer) -> bytes:
    """One object as it goes over the socket."""
    return msgspec.json.encode(answer) + b"\n"
