"""The next move in delivering one message: a pure function of its row and of this process's
knowledge. `ChatDelivery` makes the moves. The promise "once, or marked" is kept here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from nanobot.errors import (
    ChatGone,
    ChatMoved,
    DeliveryError,
    FormRefused,
    NobodyThere,
    NotSent,
    OutcomeUnknown,
    Refused,
    ThreadGone,
)
from nanobot.ports import OutboundPart
from nanobot.session.outbox import BuryScope, OutboundRow, PartRow

_FINAL: tuple[tuple[type[DeliveryError], BuryScope], ...] = (
    (Refused, "message"),
    (ThreadGone, "thread"),
    (ChatGone, "chat"),
    (ChatMoved, "chat"),  # to its earlier id
)


class Answer(msgspec.Struct, frozen=True):
    """The result of looking up a part in doubt: its `receipt`, or None if it was not applied.
    `unknown`: why it cannot be known."""

    receipt: str | None = None
    unknown: str = ""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """How the last move failed."""

    idx: int
    """The part at which it failed."""
    error: DeliveryError
    edit: bool = False
    """It was an edit."""
    moved: bool = False
    """The chat now has another id."""
    too_old: bool = False
    """The message has reached the maximum age."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """This process's knowledge in addition to the row it read."""

    begun: int | None = None
    """The part recorded since then as about to be sent, which is not in doubt."""
    answer: Answer | None = None
    """Result of looking up the part in doubt."""
    replaced: str | None = None
    """The message in the chat that the whole message replaces."""
    repeated: bool = False
    """Whether that one says that it may be a repeat."""
    failure: Failure | None = None
    failures: int = 0
    recovered: bool = False
    """The `failures` in a row concern only this chat."""


class Work(msgspec.Struct, frozen=True):
    """A message being delivered: its row, its parts, and what this process knows about it."""

    row: OutboundRow
    parts: tuple[OutboundPart, ...]
    memory: Memory

    def with_memory(self, **changes: Any) -> Work:
        """A copy with these changes of the memory."""
        memory = msgspec.structs.replace(self.memory, failure=None, **changes)
        return Work(self.row, self.parts, memory)


class Render(msgspec.Struct, frozen=True):
    """Render the message and record that its first part is about to be sent, to replace the message
    `standing`. `repeat`: it says that it may be a repeat."""

    standing: str | None = None
    repeat: bool = False


class Reform(msgspec.Struct, frozen=True):
    """Render the message in a format that the chat accepts, after it refused part `idx`."""

    idx: int
    refused: FormRefused


class Send(msgspec.Struct, frozen=True):
    """Send part `idx`."""

    idx: int
    begin: bool = False
    """First record that it is about to be sent."""
    anew: str | None = None
    """It replaces this message, which cannot be edited and is deleted if possible."""


class Edit(msgspec.Struct, frozen=True):
    """Edit the message `standing` into the first part. An edit can be repeated, so it is never in
    doubt. `begin`: as in Send."""

    standing: str
    begin: bool = False


class LookUp(msgspec.Struct, frozen=True):
    """Ask the platform whether part `idx` was applied."""

    idx: int


class Repeat(msgspec.Struct, frozen=True):
    """Record that part `idx` may be a repeat, and mark it so."""

    idx: int


class Keep(msgspec.Struct, frozen=True):
    """Record the receipt of part `idx`, which has already arrived."""

    idx: int
    receipt: str


class Bury(msgspec.Struct, frozen=True):
    """Give up the message, or all messages to its thread or chat."""

    scope: BuryScope
    why: str


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Try again after `requested` seconds, or else after the backoff of this many `tries`.
    `doubtful`: the part may have been applied, and stays in doubt."""

    idx: int
    why: str
    requested: float | None = None
    tries: int = 1
    doubtful: bool = False


class Follow(msgspec.Struct, frozen=True):
    """The chat has moved: try again there at once."""

    idx: int
    why: str


class Park(msgspec.Struct, frozen=True):
    """Wait until a client attaches."""

    idx: int
    error: NobodyThere


Move: TypeAlias = (
    Render | Reform | Send | Edit | LookUp | Repeat | Keep | Bury | Wait | Follow | Park
)


def next_move(row: OutboundRow, parts: Sequence[OutboundPart], memory: Memory) -> Move:
    """The next move of a message. `row` is as read, except that a message to be replaced by the
    first part has state pending. `parts`: the rendered parts, none before rendering."""
    if memory.failure is not None:
        return _after_failure(row, memory, memory.failure)
    if memory.begun is not None:
        return _begun(row, parts, memory.begun)
    if row.preview is not None:
        return _after_preview(row, memory.answer)
    if row.message.replaces:
        return Render(memory.replaced, memory.repeated)
    if parts:
        return _resumed(row, memory.answer)
    return Render(repeat=row.duplicate_sends > 0)  # of a backup: perhaps it was sent since then


def standing(row: OutboundRow, receipt: str | None) -> OutboundRow:
    """The row while its first part replaces that message."""
    first = PartRow(idx=0, part=OutboundPart(text=""), state="pending", receipt=receipt)
    return msgspec.structs.replace(row, parts=(first,))


def _begun(row: OutboundRow, parts: Sequence[OutboundPart], idx: int) -> Move:
    """A part was recorded as about to be sent."""
    if row.message.replaces and (row.standing is None or len(parts) != 1):
        return Keep(0, row.standing or "")  # it replaces the whole message, or nothing
    return _place(row, idx, begin=False)


def _place(row: OutboundRow, idx: int, *, begin: bool) -> Move:
    if idx == 0 and row.standing is not None:
        return Edit(row.standing, begin)
    return Send(idx, begin)


def _after_preview(row: OutboundRow, answer: Answer | None) -> Move:
    """Replace the preview with the message. If it is unknown whether the preview arrived, look it
    up, or mark the message as a possible repeat."""
    if row.standing is not None:
        return Render(row.standing)
    if answer is None:
        return LookUp(0)
    return Render(repeat=True) if answer.unknown else Render(answer.receipt)


def _resumed(row: OutboundRow, answer: Answer | None) -> Move:
    """The message was rendered before, and perhaps partly sent."""
    doubt = next((part.idx for part in row.parts if part.state == "sending"), None)
    if doubt is not None:
        return _in_doubt(row, doubt, answer)
    sent = sum(part.state == "sent" for part in row.parts)
    if sent == len(row.parts):
        return Keep(sent - 1, row.parts[-1].receipt or "")
    return _place(row, sent, begin=True)


def _in_doubt(row: OutboundRow, idx: int, answer: Answer | None) -> Move:
    """A part was about to be sent when the reply, or a process, was lost."""
    if idx == 0 and row.standing is not None:
        return Edit(row.standing, begin=True)
    if answer is None:
        return LookUp(idx)
    if answer.unknown:
        return Repeat(idx)
    if answer.receipt is not None:
        return Keep(idx, answer.receipt)
    # A part sent with the mark looks different, so it was not found.
    return Repeat(idx) if row.duplicate_sends else Send(idx, begin=True)


def _after_failure(row: OutboundRow, memory: Memory, failure: Failure) -> Move:
    """Try another way, if there is one."""
    idx, error = failure.idx, failure.error
    if isinstance(error, FormRefused):
        return Reform(idx, error)
    if failure.edit and isinstance(error, Refused):
        if row.message.replaces:
            return Keep(0, row.standing or "")
        return Send(0, begin=True, anew=row.standing)
    if isinstance(error, NobodyThere):
        return Park(idx, error)
    return Follow(idx, str(error)) if failure.moved else _given_up(row, memory, failure)


def _given_up(row: OutboundRow, memory: Memory, failure: Failure) -> Bury | Wait:
    """Give up permanently, or wait."""
    idx, error = failure.idx, failure.error
    for kind, scope in _FINAL:
        if isinstance(error, kind):
            return Bury(scope, str(error))
    if failure.too_old:
        return Bury("message", f"not delivered within 24 hours: {error}")
    if isinstance(error, OutcomeUnknown):
        tries = memory.failures + 1 if memory.recovered else row.duplicate_sends + 1
        return Wait(idx=idx, why=str(error), tries=tries, doubtful=True)
    requested = (error.retry_after or None) if isinstance(error, NotSent) else None
    return Wait(idx=idx, why=str(error), requested=requested, tries=memory.failures + 1)
