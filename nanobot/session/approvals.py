"""Questions to a person that a run waits for: a call to approve, or a question to answer.

Everything here is pure: who may answer, how the question reads, what the model is told.
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
from nanobot.text import Sentence, around
from nanobot.visible import arguments_shown, host_shown, hosts_in, spelled

State: TypeAlias = Literal[
    "waiting", "detached", "approved", "denied", "answered", "expired", "void"
]


OPEN = ("waiting", "detached")


"""The states in which an answer is still accepted."""


NOBODY = "not executed: it needs a person's approval, and nobody can be asked here. {why}"


MOST_SHOWN = 3_000
"""Maximum number of characters of a call that a question shows."""


_HOUR, _DAY = 3_600, 86_400
_HOST_ROOM = 40


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person, and its state.

    States: waiting (its run is parked until the answer), detached (its run continued without an
    answer; an approval starts another run that makes the call), then approved, denied, answered,
    expired, or void (its run was stopped). `digest` binds it to the exact call. `question` is empty
    for a call. `host`: the internet host that the call contacts. `here`: the person who requested
    the call may approve it. `direct`: a program asks, and no chat does. `approvers`: see
    `may_answer`. `asked_in`: the chats that show the question. `version`: of the tool, if another
    program describes it; `unaccepted`: no owner has accepted that version. `rule`: of the policy,
    for the log. `label`: of the run's context. `seen`: the people who were shown the whole call
    where the question is too short for it (`fits`). Times are unix seconds.
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
    why: Sentence
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
    version: str = ""
    unaccepted: bool = False
    rule: str = ""
    label: str = ""
    asked_at: float
    expires_at: float
    decided_at: float | None = None
    decided_by: str = ""
    answer: str = ""


class Approver(msgspec.Struct, frozen=True, kw_only=True):
    """A person who answers. `channel` is empty for someone with access to the home itself."""

    role: Role
    channel: str
    id: str
    name: str = ""

    @property
    def key(self) -> str:
        """Their identity, unique among all channels."""
        return keys.person(self.channel, self.id)

    @property
    def shown(self) -> str:
        """Their name as others see it."""
        return called(self.name, self.id)


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A person's decision. `always`: the same call is allowed in this chat from now on."""

    state: Literal["approved", "denied", "answered"]
    by: str
    text: str = ""
    always: bool = False


class AnswerOutcome(msgspec.Struct, frozen=True):
    """The effect of an answer. `fresh` is False if another answer or the expiry came first."""

    approval: Approval
    fresh: bool


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


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is always allowed in one conversation. `tainted`: the rule applies only to runs
    that have seen content from outside."""

    id: int
    session_key: str
    tool: str
    subject: str
    tainted: bool
    by: str
    created_at: float


def digest(tool: str, arguments: str) -> str:
    """Identify the exact call, as the model wrote it. An approval is bound to this digest."""
    return hashlib.sha256(f"{tool}\0{arguments}".encode("utf-8", "surrogatepass")).hexdigest()


def subject(approval: Approval) -> str:
    """What "always" covers: the same host or arguments, or the same command with its hosts."""
    decoded = {"host": approval.host} if approval.host else _decoded(approval.arguments)
    if approval.tool == "exec" and isinstance(decoded, dict):
        hosts = {"hosts": decoded["hosts"]} if decoded.get("hosts") else {}
        decoded = {"command": decoded.get("command"), **hosts}
    return json.dumps(decoded, sort_keys=True, ensure_ascii=False)


def may_approve(approvers: tuple[str, ...], person: Approver) -> bool:
    """Owners may approve. Members may if `approvers` contains "members", and each person listed
    there as CHANNEL:ID."""
    if person.role is Role.OWNER:
        return True
    named = person.role is Role.MEMBER and "members" in approvers
    return named or person.key in approvers


def may_answer(approval: Approval, person: Approver) -> bool:
    """Who may approve a call may answer it. Only the person asked may answer a question."""
    if not approval.question:
        return may_approve(approval.approvers, person)
    own = (approval.address.channel, approval.sender_id) == (person.channel, person.id)
    return own or (not person.channel and person.role is Role.OWNER)


def whole_call(tool: str, arguments: str) -> str:
    """The whole call in a form that a person can judge: one argument per line, texts verbatim, and
    nothing that can hide or imitate another argument."""
    return f"{spelled(tool)}\n{arguments_shown(_decoded(arguments))}".strip()


def shown_call(tool: str, arguments: str) -> str:
    """The call, shortened to fit into a question."""
    text = whole_call(tool, arguments)
    if len(text) > MOST_SHOWN:
        half = MOST_SHOWN // 2
        note = f"[... {len(text) - 2 * half:,} characters are left out here]"
        text = f"{text[:half]}\n{note}\n{text[-half:]}"
    return text


def fits(approval: Approval) -> bool:
    """Whether the question shows the whole call. Programs are always shown all of it."""
    whole = whole_call(approval.tool, approval.arguments)
    return approval.direct or bool(approval.question) or len(whole) <= MOST_SHOWN


def may_judge(approval: Approval, person: Approver) -> bool:
    """Whether this person was shown the whole call that they would approve."""
    return fits(approval) or person.key in approval.seen


def fenced(text: str) -> str:
    """Wrap a text in a code block that the text itself cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def decisions(approval: Approval) -> tuple[Choice, ...]:
    """The buttons of a question that shows the whole call."""
    number = approval.id
    host = f"{_end(approval.host)} " if approval.host else ""
    return (
        Choice("Approve", f"/approve {number}"),
        Choice("Deny", f"/deny {number}"),
        Choice(f"Always {host}here", f"/approve {number} always"),
    )


def message(approval: Approval, to: Address) -> OutboundMessage:
    """The question as a chat shows it or, once decided, the decision and who made it. People who
    may not answer get no buttons."""
    number, choices = approval.id, tuple[Choice, ...]()
    text = approval.question or _question(approval, elsewhere=to != approval.address)
    if approval.state not in OPEN:
        text += f"\n\n{_word(approval)}"
    elif approval.question:
        choices = tuple(
            Choice(option[:60], f"/answer {number} {place}", quoted=True)
            for place, option in enumerate(approval.choices, 1)
        )
    elif approval.here or to != approval.address or approval.asked_in in ((), (to,)):
        choices = decisions(approval) if fits(approval) else _without_approve(number)
    else:
        text = " ".join([text, "The owners are asked in their own chats."])
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
        own=around(text, *_quoted(approval)),
    )


def _quoted(approval: Approval) -> tuple[str, ...]:
    """The pieces of a question and its decision that nanobot did not write."""
    if approval.question:
        return approval.question, approval.answer
    return (fenced(shown_call(approval.tool, approval.arguments)),)


def still_waits(approval: Approval) -> OutboundMessage:
    """The reply to a message in that chat that did not decide the question."""
    number, here = approval.id, bool(message(approval, approval.address).choices)
    how = f"/approve {number} or /deny {number}" if here else "an owner decides"
    return OutboundMessage(
        address=approval.address,
        text=f"#{number} still waits: {f'/answer {number} TEXT' if approval.question else how}.",
        key=APPROVALS.of(number, "waits"),
        kind=OutboundKind.NOTICE,
    )


def result(approval: Approval) -> str:
    """The tool result that the model gets in place of the call's own."""
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
    """The reply to a person whose answer came late or twice."""
    if approval.state in ("approved", "denied", "answered"):
        return f"#{approval.id} was already {approval.state} by {approval.decided_by}"
    return {
        "expired": f"#{approval.id} has expired: no one answered in time",
        "void": f"#{approval.id} is void: its run was stopped",
    }.get(approval.state, f"#{approval.id} waits for an answer")


def _word(approval: Approval) -> Sentence:
    """The decision, and who made it."""
    by = approval.decided_by
    if approval.state == "expired":
        return "No one answered in time"
    if approval.state == "denied":
        return f"Denied by {by}"
    if approval.state == "answered":
        reply = approval.answer if approval.question else ""
        return f"Answered by {by}: {reply}" if reply else f"Answered by {by}"
    return f"Approved by {by}" if approval.state == "approved" else f"Void by {by}"


def _without_approve(number: int) -> tuple[Choice, ...]:
    return Choice("Show all of it", f"/show {number}"), Choice("Deny", f"/deny {number}")


def _end(host: str) -> str:
    """The end of a host name, short enough for a button: it shows who owns the host."""
    return host if len(host) <= _HOST_ROOM else f"…{host[-_HOST_ROOM:]}"


def _question(approval: Approval, *, elsewhere: bool) -> Sentence:
    named = dict.fromkeys([approval.host] if approval.host else [])
    named |= dict.fromkeys(hosts_in(_decoded(approval.arguments)))
    hosts = f"It goes to: {', '.join(map(host_shown, named))}\n\n" if named else ""
    sentences = [
        spelled(_asked(approval, elsewhere=elsewhere)),
        spelled(f"I ask because {approval.why}."),
        "" if fits(approval) else f"It is longer than this: /show {approval.id} shows it.",
        f"Without an answer within {_long(approval)} it is refused.",
    ]
    return (
        f"May I do this? (#{approval.id})\n\n"
        f"{fenced(shown_call(approval.tool, approval.arguments))}\n\n{hosts}"
        f"{' '.join(filter(None, sentences))}"
    )


def _asked(approval: Approval, *, elsewhere: bool) -> Sentence:
    """Who asked for the call."""
    who = called(approval.sender_name, approval.sender_id)
    if who != THE_OWNER:
        place = approval.address
        return f"{who} asked for it in {place}." if elsewhere else f"{who} asked for it."
    return f"The owner asked for it in {approval.address}." if elsewhere else "You asked for it."


def _long(approval: Approval) -> Sentence:
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
