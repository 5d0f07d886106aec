"""What a run waits for: an approval of one exact call, or an answer to a question. The plugin
`approvals` asks people and takes their decisions."""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

import msgspec

from nanobot.messages import Address, Role
from nanobot.session.entries import Entry
from nanobot.text import Sentence

State: TypeAlias = Literal[
    "waiting", "detached", "approved", "denied", "answered", "expired", "void"
]
OPEN = ("waiting", "detached")
"""The states in which an answer is still accepted."""


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person, and its state.

    States: waiting (its run is parked until the answer), detached (its run continued without an
    answer; an approval starts another run that makes the call), then approved, denied, answered,
    expired, or void (its run was stopped). `digest` binds it to the exact call."""

    id: int = 0
    state: State = "waiting"
    session_key: str
    run_id: str
    model_call: int
    index: int
    tool: str
    arguments: str
    digest: str
    why: Sentence
    question: str = ""
    """Empty for a call."""
    choices: tuple[str, ...] = ()
    address: Address
    sender_id: str
    sender_name: str = ""
    role: Role
    tainted: bool = False
    host: str = ""
    """The internet host that the call contacts."""
    here: bool = False
    """The person who requested the call may approve it."""
    direct: bool = False
    """A program asks, and no chat does."""
    approvers: tuple[str, ...] = ()
    """People who may approve in addition to owners."""
    asked_in: tuple[Address, ...] = ()
    """The chats that show the question."""
    seen: tuple[str, ...] = ()
    """The people who were shown the whole call where the question is too short for it."""
    version: str = ""
    """Of the tool, if another program describes it."""
    unaccepted: bool = False
    """No owner has accepted that version."""
    rule: str = ""
    """Of the policy, for the log."""
    label: str = ""
    """Of the run's context."""
    asked_at: float
    """In unix seconds, like all times."""
    expires_at: float
    decided_at: float | None = None
    decided_by: str = ""
    answer: str = ""


class Parked(msgspec.Struct, frozen=True, kw_only=True):
    """The run is parked and the lane is free. `owes`: the chats to ask; `more`: messages wait."""

    entries: tuple[Entry, ...]
    owes: tuple[Address, ...]
    more: bool


class AllowedForGood(msgspec.Struct, frozen=True):
    """A rule allows the call without asking, as its `entries` record."""

    entries: tuple[Entry, ...]


class NobodyReached(msgspec.Struct, frozen=True):
    """No person can be asked. Nothing was written."""


ParkResult: TypeAlias = Parked | AllowedForGood | NobodyReached


def digest(tool: str, arguments: str) -> str:
    """Identify the exact call, as the model wrote it. An approval is bound to this digest."""
    return hashlib.sha256(f"{tool}\0{arguments}".encode("utf-8", "surrogatepass")).hexdigest()
