"""What a person is asked before a run goes on: a call to approve, or a question to answer.

Everything here is pure: who may answer, how it reads, what the model is told of the outcome.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal, TypeAlias

import msgspec

from nanobot.addresses import THE_OWNER, called
from nanobot.messages import Address, Choice, OutboundKind, OutboundMessage, Role
from nanobot.session import keys
from nanobot.session.entries import Entry
from nanobot.session.keys import APPROVALS
from nanobot.visible import arguments_shown, host_shown, hosts_in, spelled

State: TypeAlias = Literal[
    "waiting", "detached", "approved", "denied", "answered", "expired", "void"
]


OPEN = ("waiting", "detached")


"""The states in which an answer still counts."""


NOBODY = "not executed: it needs a person's approval, and nobody can be asked here. {why}"


MOST_SHOWN = 3_000
"""Characters of a call that a question shows."""


_HOUR, _DAY = 3_600, 86_400
_HOST_ROOM = 40


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, of whom, and how it stands.

    waiting: its run is parked for it; detached: its run went on without it, and an approval makes
    the call in a run of its own; then approved, denied, answered, expired or void (its run was
    stopped). `digest` binds it to the exact call. `question` is empty for a call. `host`: whom on
    the internet the call asks. `here`: who asked for the call may approve it. `direct`: it is a
    program, and no chat is asked. `approvers`: see `may_answer`. `asked_in`: the chats that were
    asked. `seen`: the people who had all of it shown to them, where it does not fit into the
    question (`fits`). Times are unix seconds.
    """

    id: int = 0
    state: State = "waiting"
    session_key: str
    run_id: str
    model_call: int
    index: int
    tool: str
    arguments: str
    digest: str
    why: str
    question: str = ""
    choices: tuple[str, ...] = ()
    address: Address
    sender_id: str
    sender_name: str = ""
    role: Role
    tainted: bool = False
    host: str = ""
    here: bool = False
    direct: bool = False
    approvers: tuple[str, ...] = ()
    asked_in: tuple[Address, ...] = ()
    seen: tuple[str, ...] = ()
    asked_at: float
    expires_at: float
    decided_at: float | None = None
    decided_by: str = ""
    answer: str = ""


class Approver(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers. `channel` is empty for whoever holds the home itself."""

    role: Role
    channel: str
    id: str
    name: str = ""

    @property
    def key(self) -> str:
        """Who they are, among all channels."""
        return keys.person(self.channel, self.id)

    @property
    def shown(self) -> str:
        """What others are told."""
        return called(self.name, self.id)


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody decided. `always`: the same call is allowed in this chat from now on."""

    state: Literal["approved", "denied", "answered"]
    by: str
    text: str = ""
    always: bool = False


class AnswerOutcome(msgspec.Struct, frozen=True):
    """What became of an answer: `fresh` False means that somebody, or the clock, was first."""

    approval: Approval
    fresh: bool


class Parked(msgspec.Struct, frozen=True, kw_only=True):
    """The chats `owes` are asked, and the lane is free; `more` waits in it."""

    entries: tuple[Entry, ...]
    owes: tuple[Address, ...]
    more: bool


class AllowedForGood(msgspec.Struct, frozen=True):
    """A rule allows the call, as its `entries` say; nobody is asked."""

    entries: tuple[Entry, ...]


class NobodyReached(msgspec.Struct, frozen=True):
    """There is nobody to ask, and nothing was written."""


ParkResult: TypeAlias = Parked | AllowedForGood | NobodyReached


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """A call that was allowed for good in one conversation. `tainted`: also in runs that have seen
    content from outside, and only there."""

    id: int
    session_key: str
    tool: str
    subject: str
    tainted: bool
    by: str
    created_at: float


def digest(tool: str, arguments: str) -> str:
    """What an approval is bound to: the exact call, as the model wrote it."""
    return hashlib.sha256(f"{tool}\0{arguments}".encode("utf-8", "surrogatepass")).hexdigest()


def subject(approval: Approval) -> str:
    """What "always" means: the same host, or the same arguments; of a command, the same one and its
    hosts."""
    decoded = {"host": approval.host} if approval.host else _decoded(approval.arguments)
    if approval.tool == "exec" and isinstance(decoded, dict):
        hosts = {"hosts": decoded["hosts"]} if decoded.get("hosts") else {}
        decoded = {"command": decoded.get("command"), **hosts}
    return json.dumps(decoded, sort_keys=True, ensure_ascii=False)


def may_approve(approvers: tuple[str, ...], person: Approver) -> bool:
    """Owners may; so may members if `approvers` says "members", and whoever is named there as
    CHANNEL:ID."""
    if person.role is Role.OWNER:
        return True
    named = person.role is Role.MEMBER and "members" in approvers
    return named or person.key in approvers


def may_answer(approval: Approval, person: Approver) -> bool:
    """A call is approved by those who may; a question is answered by whom it was put to."""
    if not approval.question:
        return may_approve(approval.approvers, person)
    own = (approval.address.channel, approval.sender_id) == (person.channel, person.id)
    return own or (not person.channel and person.role is Role.OWNER)


def whole_call(tool: str, arguments: str) -> str:
    """A call as a person may judge it: a command and other texts as they are, every argument on
    lines of its own, nothing that could hide or forge another one."""
    return f"{spelled(tool)}\n{arguments_shown(_decoded(arguments))}".strip()


def shown_call(tool: str, arguments: str) -> str:
    """As much of a call as fits into a question."""
    text = whole_call(tool, arguments)
    if len(text) > MOST_SHOWN:
        half = MOST_SHOWN // 2
        note = f"[... {len(text) - 2 * half:,} characters are left out here]"
        text = f"{text[:half]}\n{note}\n{text[-half:]}"
    return text


def fits(approval: Approval) -> bool:
    """Whether the question shows all of the call. Programs are shown all of it."""
    whole = whole_call(approval.tool, approval.arguments)
    return approval.direct or bool(approval.question) or len(whole) <= MOST_SHOWN


def may_judge(approval: Approval, person: Approver) -> bool:
    """Whether somebody has been shown all of what they would approve."""
    return fits(approval) or person.key in approval.seen


def fenced(text: str) -> str:
    """A text as a block of code, which nothing in it ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def decisions(approval: Approval) -> tuple[Choice, ...]:
    """The buttons below all of a call."""
    number = approval.id
    host = f"{_end(approval.host)} " if approval.host else ""
    return (
        Choice("Approve", f"/approve {number}"),
        Choice("Deny", f"/deny {number}"),
        Choice(f"Always {host}here", f"/approve {number} always"),
    )


def message(approval: Approval, to: Address) -> OutboundMessage:
    """The question as a chat gets it; once it is decided, what was decided and by whom. Those who
    may not answer get no buttons."""
    number, choices = approval.id, tuple[Choice, ...]()
    text = approval.question or _question(approval, elsewhere=to != approval.address)
    if approval.state not in OPEN:
        text += f"\n\n{_word(approval)}"
    elif approval.question:
        choices = tuple(
            Choice(option[:60], f"/answer {number} {place}")
            for place, option in enumerate(approval.choices, 1)
        )
    elif approval.here or to != approval.address or approval.asked_in in ((), (to,)):
        choices = decisions(approval) if fits(approval) else _without_approve(number)
    else:
        text += " The owners are asked in their own chats."
    key = APPROVALS.of(number, to)
    decided = approval.state not in OPEN
    return OutboundMessage(
        address=to,
        text=text,
        key=f"{key}:{approval.state}" if decided else key,
        kind=OutboundKind.APPROVAL,
        choices=choices,
        replaces=key if decided else "",
        only_for=approval.sender_id if to == approval.address and not approval.question else "",
    )


def still_waits(approval: Approval) -> OutboundMessage:
    """What is said where it was asked for when a message came that did not decide it."""
    number, here = approval.id, bool(message(approval, approval.address).choices)
    how = f"/approve {number} or /deny {number}" if here else "an owner decides"
    return OutboundMessage(
        address=approval.address,
        text=f"#{number} still waits: {f'/answer {number} TEXT' if approval.question else how}.",
        key=APPROVALS.of(number, "waits"),
        kind=OutboundKind.NOTICE,
    )


def result(approval: Approval) -> str:
    """What the model gets instead of a result."""
    number, by = approval.id, approval.decided_by
    if approval.question:
        return {
            "answered": approval.answer,
            "detached": (
                f"not answered yet (#{number}): others write here meanwhile. Go on without it; "
                "the answer comes as a message."
            ),
        }.get(approval.state, f"nobody answered within {_long(approval)}")
    return {
        "denied": f"not executed: denied by {by}. Do not try it again in another way.",
        "detached": (
            f"not yet approved (#{number}): nothing was executed. Go on without it and say that it "
            "waits for approval; once somebody approves, it is executed and you see its result."
        ),
    }.get(approval.state, f"not executed: nobody approved it within {_long(approval)}")


def outcome(approval: Approval) -> str:
    """What it is told that comes too late, or twice."""
    if approval.state in ("approved", "denied", "answered"):
        return f"#{approval.id} was already {approval.state} by {approval.decided_by}"
    return {
        "expired": f"#{approval.id} has expired: nobody answered in time",
        "void": f"#{approval.id} is void: its run was stopped",
    }.get(approval.state, f"#{approval.id} waits for an answer")


def _word(approval: Approval) -> str:
    """What was decided, and by whom."""
    if approval.state == "expired":
        return "Nobody answered in time"
    reply = f": {approval.answer}" if approval.question and approval.answer else ""
    return f"{approval.state.capitalize()} by {approval.decided_by}{reply}"


def _without_approve(number: int) -> tuple[Choice, ...]:
    return Choice("Show all of it", f"/show {number}"), Choice("Deny", f"/deny {number}")


def _end(host: str) -> str:
    """A host on a button: its end, which says whose it is."""
    return host if len(host) <= _HOST_ROOM else f"…{host[-_HOST_ROOM:]}"


def _question(approval: Approval, *, elsewhere: bool) -> str:
    who = called(approval.sender_name, approval.sender_id)
    who = ("The owner" if elsewhere else "You") if who == THE_OWNER else who
    place = f" in {approval.address}" if elsewhere else ""
    named = dict.fromkeys([approval.host] if approval.host else [])
    named |= dict.fromkeys(hosts_in(_decoded(approval.arguments)))
    hosts = f"It goes to: {', '.join(map(host_shown, named))}\n\n" if named else ""
    more = "" if fits(approval) else f" It is longer than this: /show {approval.id} shows it."
    return (
        f"May I do this? (#{approval.id})\n\n"
        f"{fenced(shown_call(approval.tool, approval.arguments))}\n\n{hosts}"
        f"{spelled(f'{who} asked for it{place}. I ask because {approval.why}.')}{more} Without an "
        f"answer within {_long(approval)} it is refused."
    )


def _long(approval: Approval) -> str:
    seconds = approval.expires_at - approval.asked_at
    if seconds >= 2 * _DAY:
        return f"{seconds / _DAY:.0f} days"
    if seconds >= _HOUR:
        return f"{seconds / _HOUR:.0f} h"
    return f"{max(seconds / 60, 1):.0f} min"


def _decoded(arguments: str) -> Any:
    try:
        return msgspec.json.decode((arguments.strip() or "{}").encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return arguments
