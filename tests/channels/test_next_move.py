"""The table of moves: what the delivery of one message does next, in every situation."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest

from nanobot.channels.next_move import (
    Answer,
    Bury,
    Edit,
    Failure,
    Follow,
    Keep,
    LookUp,
    Memory,
    Move,
    Park,
    Reform,
    Render,
    Repeat,
    Send,
    Wait,
    next_move,
)
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
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.session.outbox import OutboundRow, PartRow

PART = OutboundPart(text="hello")
FOUND, ABSENT, UNKNOWN = Answer("77"), Answer(), Answer(unknown="no history")
FORM = FormRefused("no components")
NOBODY = NobodyThere("no terminal")


def row(
    *states: str, receipt: str | None = None, replaces: str = "", duplicates: int = 0
) -> OutboundRow:
    """A row whose parts have these states; `receipt` is that of the first."""
    message = OutboundMessage(address=Address("c", "1"), text="hello", key="k", replaces=replaces)
    parts = [PartRow(idx=idx, part=PART, state=state) for idx, state in enumerate(states)]
    if parts:
        parts[0] = msgspec.structs.replace(parts[0], receipt=receipt)
    return OutboundRow(
        id=1,
        session_key="s",
        run_id="r",
        state="sending" if states else "pending",
        message=message,
        attempts=len(states),
        not_before=0.0,
        maybe_duplicate=duplicates > 0,
        duplicate_sends=duplicates,
        created_at=0.0,
        parts=tuple(parts),
    )


def failed(error: DeliveryError, idx: int = 1, **more: bool) -> Memory:
    failure = Failure(
        idx=idx,
        error=error,
        edit=more.get("edit", False),
        moved=more.get("moved", False),
        too_old=more.get("too_old", False),
    )
    return Memory(begun=idx, failure=failure, failures=3, recovered=more.get("recovered", False))


TABLE: dict[str, tuple[OutboundRow, Memory, Move]] = {
    # What was read from the store
    "new": (row(), Memory(), Render()),
    "unsent in a backup": (row(duplicates=1), Memory(), Render(repeat=True)),
    "rendered, nothing begun": (row("pending", "pending"), Memory(), Send(0, begin=True)),
    "one sent": (row("sent", "pending", receipt="5"), Memory(), Send(1, begin=True)),
    "all sent": (row("sent", receipt="5"), Memory(), Keep(0, "5")),
    "an edit that waits": (row("pending", receipt="5"), Memory(), Edit("5", begin=True)),
    # In doubt
    "in doubt": (row("sending"), Memory(), LookUp(0)),
    "the second in doubt": (row("sent", "sending", receipt="5"), Memory(), LookUp(1)),
    "an edit in doubt": (row("sending", receipt="5"), Memory(), Edit("5", begin=True)),
    "found": (row("sending"), Memory(answer=FOUND), Keep(0, "77")),
    "not applied": (row("sending"), Memory(answer=ABSENT), Send(0, begin=True)),
    "nobody can tell": (row("sending"), Memory(answer=UNKNOWN), Repeat(0)),
    "not applied, repeated before": (
        row("sending", duplicates=1),
        Memory(answer=ABSENT),
        Repeat(0),
    ),
    "found, repeated before": (
        row("sending", duplicates=1),
        Memory(answer=FOUND),
        Keep(0, "77"),
    ),
    # Begun by this process
    "begun": (row(), Memory(begun=0), Send(0)),
    "the next begun": (row(), Memory(begun=1), Send(1)),
    "begun in the place of another": (row("pending", receipt="5"), Memory(begun=0), Edit("5")),
    "behind what replaced another": (row("pending", receipt="5"), Memory(begun=1), Send(1)),
    "begun after a look-up": (row("sending"), Memory(begun=0, answer=ABSENT), Send(0)),
    # Previews
    "a preview that arrived": (row("preview", receipt="5"), Memory(), Render("5")),
    "a preview in doubt": (row("preview"), Memory(), LookUp(0)),
    "a preview that was found": (row("preview"), Memory(answer=FOUND), Render("77")),
    "a preview that is not there": (row("preview"), Memory(answer=ABSENT), Render()),
    "a preview that nobody can tell of": (
        row("preview"),
        Memory(answer=UNKNOWN),
        Render(repeat=True),
    ),
    # Messages that replace an earlier one as a whole
    "a decision": (row(replaces="q"), Memory(replaced="5"), Render("5")),
    "a decision on a repeat": (
        row(replaces="q"),
        Memory(replaced="5", repeated=True),
        Render("5", repeat=True),
    ),
    "a decision again": (row("sending", replaces="q"), Memory(replaced="5"), Render("5")),
    "a decision begun": (row("pending", receipt="5", replaces="q"), Memory(begun=0), Edit("5")),
    "a decision on nothing": (row("pending", replaces="q"), Memory(begun=0), Keep(0, "")),
    "a decision refused": (
        row("pending", receipt="5", replaces="q"),
        failed(Refused("gone"), 0, edit=True),
        Keep(0, "5"),
    ),
    # Failures
    "another form": (row(), failed(FORM), Reform(1, FORM)),
    "another form of an edit": (
        row("pending", receipt="5"),
        failed(FORM, 0, edit=True),
        Reform(0, FORM),
    ),
    "an edit refused": (
        row("pending", receipt="5"),
        failed(Refused("gone"), 0, edit=True),
        Send(0, begin=True, anew="5"),
    ),
    "refused": (row(), failed(Refused("no")), Bury("message", "no")),
    "refused where something is to be replaced": (
        row("pending", receipt="5"),
        failed(Refused("no"), 0),
        Bury("message", "no"),
    ),
    "the thread is gone": (row(), failed(ThreadGone("no")), Bury("thread", "no")),
    "the chat is gone": (row(), failed(ChatGone("no")), Bury("chat", "no")),
    "moved": (row(), failed(ChatMoved("there", "2"), moved=True), Follow(1, "there")),
    "moved in a circle": (row(), failed(ChatMoved("there", "2")), Bury("chat", "there")),
    "nobody there": (row(), failed(NOBODY, too_old=True), Park(1, NOBODY)),
    "not sent": (row(), failed(NotSent("busy")), Wait(idx=1, why="busy", tries=4)),
    "told to wait": (
        row(),
        failed(NotSent("busy", 9.0)),
        Wait(idx=1, why="busy", requested=9.0, tries=4),
    ),
    "busy, and the pause is nothing": (
        row(),
        failed(NotSent("busy", retry_after=0.0)),
        Wait(idx=1, why="busy", tries=4),
    ),
    "too old": (
        row(),
        failed(NotSent("busy"), too_old=True),
        Bury("message", "not delivered within 24 hours: busy"),
    ),
    "too old in doubt": (
        row(),
        failed(OutcomeUnknown("cut"), too_old=True),
        Bury("message", "not delivered within 24 hours: cut"),
    ),
    "unknown": (
        row(duplicates=2),
        failed(OutcomeUnknown("cut")),
        Wait(idx=1, why="cut", tries=3, doubtful=True),
    ),
    "unknown, of this chat alone": (
        row(duplicates=2),
        failed(OutcomeUnknown("cut"), recovered=True),
        Wait(idx=1, why="cut", tries=4, doubtful=True),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_moves(name: str) -> None:
    row, memory, move = TABLE[name]
    begun = memory.begun is not None
    parts = [PART] if begun or (row.parts and row.preview is None) else []
    parts = parts * max(len(row.parts), 1)
    assert next_move(row, parts, memory) == move


def test_a_decision_of_several_messages_replaces_nothing() -> None:
    decision = row("pending", receipt="5", replaces="q")
    assert next_move(decision, [PART, PART], Memory(begun=0)) == Keep(0, "5")


STATES = ("pending", "sending", "sent")
ANSWERS = (None, FOUND, ABSENT, UNKNOWN)
ROWS = [
    row(*states, receipt=receipt, duplicates=duplicates)
    for count in (1, 2, 3)
    for states in product(STATES, repeat=count)
    for receipt in (None, "5")
    for duplicates in (0, 1)
]


@pytest.mark.parametrize("answer", ANSWERS, ids=["not asked", "found", "absent", "unknown"])
def test_what_may_have_arrived_is_never_sent_again_unmarked(answer: Answer | None) -> None:
    """Over all rows of up to three parts: a part in doubt is sent plainly only after the platform
    said that it was not applied, and never once it was repeated."""
    for each in ROWS:
        doubt = next((part for part in each.parts if part.state == "sending"), None)
        move = next_move(each, [PART] * len(each.parts), Memory(answer=answer))
        if doubt is None:
            assert not isinstance(move, LookUp | Repeat), each
        elif isinstance(move, Send):
            assert answer == ABSENT, each
            assert not each.duplicate_sends, each
            assert move == Send(doubt.idx, begin=True)
        elif isinstance(move, Edit):
            assert (doubt.idx, each.standing) == (0, move.standing)
        else:
            assert move in {LookUp(doubt.idx), Repeat(doubt.idx), Keep(doubt.idx, "77")}, each


@pytest.mark.parametrize(
    "error",
    [
        *(NotSent("a"), OutcomeUnknown("a"), Refused("a"), FORM, NOBODY),
        *(ThreadGone("a"), ChatGone("a"), ChatMoved("a", "2")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_failure_is_answered_by_the_same_send(error: DeliveryError) -> None:
    """Whatever fails, there is a wait, another form, or an end: no move loops without one."""
    flags = list(product((False, True), repeat=3))
    for each in ROWS:
        for edit, moved, too_old in flags:
            memory = failed(error, 0, edit=edit, moved=moved, too_old=too_old)
            move = next_move(each, [PART], memory)
            assert isinstance(move, Reform | Wait | Park | Follow | Bury | Keep) or (
                edit and isinstance(move, Send) and move.anew == each.standing
            )
