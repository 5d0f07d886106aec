"""How a question to a person reads, before and after it is decided, and what the model is told."""

from __future__ import annotations

import json

from nanobot.addresses import THE_OWNER, called
from nanobot.messages import Address, Choice, OutboundKind, OutboundMessage
from nanobot.plugins.approvals.hosts import host_shown, hosts_in
from nanobot.plugins.common.approvals import Approver
from nanobot.plugins.common.views.shown_calls import (
    MOST_SHOWN,
    decoded,
    fenced,
    shown_call,
    whole_call,
)
from nanobot.session.approvals import OPEN, Approval
from nanobot.session.keys import APPROVALS
from nanobot.text import Sentence, around
from nanobot.visible import spelled

_HOUR, _DAY = 3_600, 86_400
_HOST_ROOM = 40


def subject(approval: Approval) -> str:
    """What "always" covers: the same host or arguments, or the same command with its hosts."""
    named = {"host": approval.host} if approval.host else decoded(approval.arguments)
    if approval.tool == "exec" and isinstance(named, dict):
        hosts = {"hosts": named["hosts"]} if named.get("hosts") else {}
        named = {"command": named.get("command"), **hosts}
    return json.dumps(named, sort_keys=True, ensure_ascii=False)


def fits(approval: Approval) -> bool:
    """Whether the question shows the whole call. Programs are always shown all of it."""
    whole = whole_call(approval.tool, approval.arguments)
    return approval.direct or bool(approval.question) or len(whole) <= MOST_SHOWN


def may_judge(approval: Approval, person: Approver) -> bool:
    """Whether this person was shown the whole call that they would approve."""
    return fits(approval) or person.key in approval.seen


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
        tainted=approval.tainted,
        label=approval.label,
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
    named |= dict.fromkeys(hosts_in(decoded(approval.arguments)))
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
