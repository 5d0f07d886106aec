"""Incoming messages that were let in, and files that arrive after them."""

from __future__ import annotations

from typing import Literal

import msgspec

from nanobot.messages import Address, InboundMessage, OutboundMessage, Role
from nanobot.session.entries import ReplyEntry
from nanobot.session.runs import Claim, Ending, Run
from nanobot.session.states import RunKind


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """How to treat a message that arrives while a run of its session is active. steer adds it to
    the run; queue keeps it for the next run; collect delays it by `collect_seconds`, to answer a
    burst once; interrupt ends the sender's own run. Parts of one group (an album, a split paste)
    always wait `group_seconds` for each other."""

    mode: Literal["steer", "queue", "collect", "interrupt"] = "steer"
    collect_seconds: float = 2.0
    group_seconds: float = 0.7


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """A message to let in. It waits in its session's lane unless it is settled at once, by an
    `answer` (control operations, strangers) or as an order to `stop` the session's run."""

    message: InboundMessage
    session_key: str
    role: Role
    answer: OutboundMessage | None = None
    stop: Ending | None = None
    everyone: bool = False
    """An owner's order, which also affects other people's runs and messages."""
    children: bool = False
    """The order also ends background runs started there."""
    said: ReplyEntry | None = None
    """What the run has said so far, logged if this message interrupts it."""
    drafted: str = ""
    """The part that the chat has seen in a draft; the draft disappears, so the chat gets that part
    as a message."""
    awaiting_files: bool = False
    """No run takes the message before its files are here (see Journal.unfetched)."""
    performing: bool = False
    """A command that takes longer; no run takes it, and its answer follows (see
    Journal.performed)."""

    @property
    def for_run(self) -> bool:
        """Whether a run takes it: it is neither settled at once nor a command in progress."""
        settled = self.answer is not None or self.stop is not None or self.message.deleted
        return not (settled or self.performing)


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an Admission."""

    inbound_id: int
    session_key: str
    kind: RunKind
    fresh: bool
    """False if the message is known: nothing was written."""
    refused: bool = False
    """The lane is full, and the sender is told."""
    owes: Address | None = None
    """The chat that now has a message to deliver."""
    stopped: Run | None = None
    """The run that the order or message ended."""
    held: float = 0.0
    """Seconds until the message may be taken."""
    claim: Claim | None = None
    """Its run, which the caller now holds."""


FETCHING_SECONDS = 300.0
"""Maximum time that a message waits for its files."""


class Unfetched(msgspec.Struct, frozen=True):
    """A waiting message whose files are not here yet. `at`: when it was admitted."""

    inbound_id: int
    at: float
    message: InboundMessage
    role: Role


class BegunCommand(msgspec.Struct, frozen=True):
    """A command that was begun and has no answer yet."""

    inbound_id: int
    message: InboundMessage
