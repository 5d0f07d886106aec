"""Labels of log entries, and of messages that enter the log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, get_args

from nanobot import labels
from nanobot.labels import NOTHING, UNKNOWN, Label, Privacy, Speaker
from nanobot.messages import TERMINAL, Address, Attachment, InboundMessage, Origin, Role
from nanobot.session.entries import (
    Body,
    ErasedEntry,
    PostEntry,
    RecallEntry,
    SummaryEntry,
    ToolResultEntry,
    UserEntry,
)

Labelled: TypeAlias = UserEntry | ToolResultEntry | PostEntry | RecallEntry | SummaryEntry
"""The entries, other than its own replies, that a model reads."""

_WITH_LABEL = frozenset({*get_args(Labelled), ErasedEntry})
"""The entries that can have another label than NOTHING."""
_SPEAKERS = {role: Speaker[role.name] for role in Role}
PUBLIC_TOOLS = ("web_fetch", "web_search", "read_document")
"""Tools whose results are public, unless their output says more. Every other tool reads personal
content."""
_OF_THE_CHAT = ("message", "ask_user", "cron", "spawn", "find_tools", "skill")


def label_of(body: Body | None) -> Label:
    """The label of an entry. Entries from before labels existed have only a taint bit."""
    if isinstance(body, ErasedEntry):
        return UNKNOWN if body.tainted else NOTHING
    if not isinstance(body, Labelled):
        return NOTHING
    label = labels.read(body.label, tainted=body.tainted)
    if isinstance(body, UserEntry) and not body.label:
        return label.join(labels.of(_SPEAKERS[body.role], privacy=Privacy.CONVERSATION))
    if isinstance(body, ToolResultEntry) and not body.label:
        return label.join(of_result(body.name, tainted=body.tainted))
    return label


def joined_label(bodies: Iterable[Body | None]) -> Label:
    """The label of content derived from all of these entries."""
    # The entries of a long log have few labels, or of those from before labels few speakers and
    # tools; each is joined once.
    known: dict[tuple[object, ...], Label] = {}
    for body in bodies:
        if (kind := type(body)) not in _WITH_LABEL:
            continue
        text, tainted = getattr(body, "label", ""), getattr(body, "tainted", False)
        whose = "" if text else getattr(body, "role", getattr(body, "name", ""))
        if (key := (kind, text, tainted, whose)) not in known:
            known[key] = label_of(body)
    return labels.joined(known.values())


def of_message(message: InboundMessage, role: Role) -> Label:
    """The label of a message as it enters the log."""
    label = labels.read(message.label, tainted=message.tainted)
    label = label.join(labels.of(_SPEAKERS[role], privacy=Privacy.CONVERSATION))
    if message.origin is Origin.WEBHOOK:
        label = label.join(labels.of(Speaker.OUTSIDE))
    if labels.is_marked_secret(message.text):
        label = label.join(labels.of(privacy=Privacy.SECRET))
    if passed_on(message.address, message.attachments):
        label = label.join(labels.of(Speaker.PASSED_ON))
    return label


def passed_on(address: Address, attachments: tuple[Attachment, ...]) -> bool:
    """Whether a message brings files that are not its sender's words: any but their own recordings.
    Files named in the terminal are on this machine; their stored marks are used instead."""
    return address.channel != TERMINAL and not all(file.recorded for file in attachments)


def of_result(tool: str, *, tainted: bool) -> Label:
    """The label of a tool call's result."""
    if tool in PUBLIC_TOOLS:
        privacy = Privacy.PUBLIC
    else:
        privacy = Privacy.CONVERSATION if tool in _OF_THE_CHAT else Privacy.PERSON
    label = labels.of(privacy=privacy)
    return label.join(labels.of_tool(tool)) if tainted else label


def rights(label: Label, role: Role) -> Role:
    """The run's role: the lowest among the people whose words it sees. Guests use no tools, and
    their words already count as content from outside, so they lower an owner's run to member only.
    """
    if role is Role.OWNER and not label.speakers.isdisjoint({Speaker.MEMBER, Speaker.GUEST}):
        return Role.MEMBER
    return role
