"""The text of a conversation's entries, for models that are asked about it."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.addresses import called
from nanobot.session.entries import (
    Entry,
    ObjectionEntry,
    PostEntry,
    ReplyEntry,
    ToolResultEntry,
    UserEntry,
)

_ENTRY_CHARS = 2_000


def material(entries: Sequence[Entry], start: int, upto: int, limit: int) -> str:
    """The text of entries `start` to `upto`, each clipped, and together at most `limit` characters.
    Entries in the middle are left out first."""
    lines = []
    for entry in entries:
        line = _line(entry) if start <= entry.seq <= upto else ""
        if line:
            lines.append(_clipped(line, _ENTRY_CHARS))
    return _clipped("\n".join(lines), limit)


def _line(entry: Entry) -> str:
    match entry.body:
        case UserEntry(text=text, command=None) as message:
            return f"{called(message.sender_name, message.sender_id)}: {text}"
        case ReplyEntry(text=text, tool_calls=calls):
            requests = "".join(f"\n(calls {call.name} {call.arguments})" for call in calls)
            return f"assistant: {text}{requests}"
        case ToolResultEntry(name=name, text=text):
            return f"(result of {name}: {text})"
        case ObjectionEntry(text=text):
            return f"(the gateway on this answer, which was not given: {text})"
        case PostEntry(text=text):
            return f"assistant: {text}"
        case _:
            return ""


def _clipped(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = max(limit // 2, 1)
    return f"{text[:half]}\n[...]\n{text[-half:]}"
