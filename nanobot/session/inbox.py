"""What comes in: messages let in, and files that arrive after them."""

from __future__ import annotations

from typing import Literal

import msgspec

from nanobot.messages import Address, InboundMessage, OutboundMessage, Role
from nanobot.session.entries import ReplyEntry
from nanobot.session.runs import Ending, Lane, Run
from nanobot.session.states import RunKind


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a person's message while a run of their session is going on: steer takes it
    into that run, queue keeps it for the next, collect holds it for `collect_seconds` so that a
    burst is answered as one, interrupt ends the sender's own run. Parts of one group (an album, a
    split paste) wait `group_seconds` for each other, busy or not."""

    mode: Literal["steer", "queue", "collect", "interrupt"] = "steer"
    collect_seconds: float = 2.0
    group_seconds: float = 0.7


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """A message let in. It waits in its session's lane, unless it is settled at once: by an
    `answer` (control operations, strangers), or as an order to `stop` what runs there.

    `everyone`: the order is an owner's and reaches runs and messages of others too; `children`: it
    ends the background runs that began there too. `said` is what the session's run has said so far,
    kept in the log if this message interrupts it; `drafted`, what the chat has seen of it in a
    draft, which goes away, is owed to the chat then.
    `awaiting_files`: nobody takes it before its files are here, see Arrivals."""

    message: InboundMessage
    session_key: str
    role: Role
    answer: OutboundMessage | None = None
    stop: Ending | None = None
    everyone: bool = False
    children: bool = False
    said: ReplyEntry | None = None
    drafted: str = ""
    awaiting_files: bool = False


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an Admission: `fresh` False means it was here before and nothing was written.

    `refused`: the lane was full, and the sender is being told. `owes`: the chat that something
    is owed to now. `stopped`: the run that an order, or this message, ended. `held`: seconds until
    the message may be taken."""

    inbound_id: int
    session_key: str
    kind: RunKind
    fresh: bool
    refused: bool = False
    owes: Address | None = None
    stopped: Run | None = None
    held: float = 0.0


class Consumed(msgspec.Struct, frozen=True):
    """A message in the hands of a program that answers it itself. Its lane is held meanwhile."""

    inbound_id: int
    lane: Lane
    message: InboundMessage


FETCHING_SECONDS = 300.0


"""A message waits for its files so long at most."""


class Unfetched(msgspec.Struct, frozen=True):
    """A waiting message whose files are not here yet; `at` is when it was admitted."""

    inbound_id: int
    at: float
    message: InboundMessage
    role: Role
