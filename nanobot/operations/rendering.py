"""How results read: as rows of short cells, for tables and for chats alike."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import msgspec

from nanobot.bus.pairing import PairingView
from nanobot.memory.port import MemoryHit, MemoryView
from nanobot.session.approvals import Approval
from nanobot.session.states import RunState, as_people_see
from nanobot.session.views import OutboxView, RunView, SessionView, ToolCallView
from nanobot.triggers.cron.jobs import JobView, OccurrenceView
from nanobot.triggers.webhooks.views import WebhookView
from nanobot.workspace.skills import SkillView

# What a list shows of each row; everything else is in its `show` and in JSON.
_SHOWN: dict[type, tuple[str, ...]] = {
    Approval: ("id", "state", "tool", "arguments", "question", "address", "asked_at"),
    SessionView: ("key", "title", "has_unread", "updated_at", "run"),
    RunView: ("id", "session_key", "state", "title", "created_at", "error"),
    OutboxView: ("id", "address", "state", "created_at", "text", "error"),
    PairingView: ("who", "name", "state", "role", "code", "asked_at"),
    SkillView: ("name", "state", "source", "always", "description", "why"),
    JobView: ("id", "name", "state", "schedule", "zone", "next_at", "to", "text"),
    WebhookView: ("name", "enabled", "style", "to", "url"),
    OccurrenceView: ("scheduled_at", "name", "status", "ended_at", "run_id", "error"),
    MemoryView: ("id", "text", "state", "kind", "scope", "updated_at"),
    MemoryHit: ("id", "text", "created_at"),
    ToolCallView: ("at", "name", "ok", "arguments", "text"),
}
_HEADINGS = {
    "session_key": "session",
    "updated_at": "changed",
    "created_at": "since",
    "asked_at": "asked",
    "at": "when",
    "next_at": "next",
    "scheduled_at": "due",
    "ended_at": "ended",
    "has_unread": "unread",
}
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def fields_of(row: Any) -> tuple[str, ...]:
    """The names of what a list shows of a row."""
    return _SHOWN.get(type(row), tuple(row.__struct_fields__))


def heading(field: str) -> str:
    """The name of a column."""
    return _HEADINGS.get(field, field.replace("_", " "))


def cell(field: str, value: Any, now: float) -> str:
    """A value in one line. Times are how long ago it was, or the day."""
    if value is None or value == "":
        return "-"
    if (field == "at" or field.endswith("_at")) and isinstance(value, int | float):
        return age(now - value)
    if isinstance(value, list | tuple):
        return ", ".join(cell("", item, now) for item in value) or "-"
    if isinstance(value, dict | msgspec.Struct):
        pairs = value if isinstance(value, dict) else msgspec.structs.asdict(value)
        return ", ".join(f"{name} {cell(name, item, now)}" for name, item in pairs.items()) or "-"
    return _word(value)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, RunState):
        return as_people_see(value)
    if isinstance(value, Enum):
        return str(value.value)
    return " ".join(str(value).split())


def age(seconds: float) -> str:
    """How long ago, or in how long, in one word or two."""
    if abs(seconds) < _MINUTE:
        return "just now" if seconds > -1 else f"in {-seconds:.0f} s"
    span = f"{abs(seconds) / _DAY:.0f} days"
    if abs(seconds) < _HOUR:
        span = f"{abs(seconds) / _MINUTE:.0f} min"
    elif abs(seconds) < 2 * _DAY:
        span = f"{abs(seconds) / _HOUR:.0f} h"
    return f"{span} ago" if seconds > 0 else f"in {span}"


def as_text(result: Any, now: float) -> str:
    """A result in a chat: a list line by line, anything else field by field."""
    if isinstance(result, str):
        return result
    if isinstance(result, list | tuple):
        return "\n".join(_line(row, now) for row in result) or "There is nothing."
    return "\n".join(f"{name}: {value}" for name, value in pairs(result, now))


def pairs(result: Any, now: float) -> Sequence[tuple[str, str]]:
    """Field by field, without what is empty."""
    fields = [(name, getattr(result, name)) for name in result.__struct_fields__]
    return [
        (name.replace("_", " ").capitalize(), cell(name, value, now))
        for name, value in fields
        if value not in (None, "", (), [], {})
    ]


def _line(row: Any, now: float) -> str:
    first, *others = fields_of(row)
    cells = [
        f"{heading(field)} {shown}" if isinstance(value, bool) else shown
        for field in others
        if (value := getattr(row, field)) not in (None, "")
        for shown in [cell(field, value, now)]
    ]
    text = ", ".join(text if len(text) <= 100 else f"{text[:100]}…" for text in cells)
    return f"- `{cell(first, getattr(row, first), now)}` {text}"
