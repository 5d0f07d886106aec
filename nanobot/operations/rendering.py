"""How results read: as rows of short cells, for tables and for chats alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import msgspec

from nanobot.messages import Address
from nanobot.operations.run_states import as_people_see
from nanobot.session.states import RunState
from nanobot.text import Sentence, pattern
from nanobot.visible import spelled
from nanobot.zones import zone_named

_LONG = frozenset(
    {
        *("title", "text", "description", "question", "arguments", "error", "why"),
        *("about", "found", "sentence", "summary"),
    }
)
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
_KEYS = frozenset({"key", "session_key", "session"})
"""What a person may give back as it is shown, whatever its characters."""
_RUN_FIELDS = frozenset({"id", "run", "run_id"})
_RUN_ID = pattern(r"[0-9a-hjkmnp-tv-z]{26}")
_SHORTEST_ID, _ID_LENGTH = 10, 26
_DATE_AND_TIME = "%Y-%m-%d %H:%M"
_EMPTY: tuple[Any, ...] = (None, "", False, (), [], {})
_MOST_CHARS = 100
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


class Now(msgspec.Struct, frozen=True):
    """When something is shown (unix seconds), and the zone whose clocks times are shown by."""

    at: float
    zone: str


def fields_shown(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The names of what a list shows of a row of that type: its `SHOWN`, what matters first.
    Everything else is in its `show` and in JSON."""
    shown: tuple[str, ...] = getattr(kind, "SHOWN", ()) or kind.__struct_fields__
    return shown


def label_of(field: str) -> str:
    """The name of a field where each has a line."""
    return field.replace("_", " ").capitalize()


def heading(field: str) -> str:
    """The name of a column."""
    return _HEADINGS.get(field, field.replace("_", " "))


def grid(
    rows: Sequence[Any], now: Now, *, whole: bool = False
) -> tuple[list[str], list[list[str]]]:
    """The fields that rows of a list show, without those that are empty in all of them, and their
    cells. Ids of runs are as short as they can be; `whole`: they and times are written out."""
    fields = fields_shown(type(rows[0]))
    filled = [
        field
        for field in fields
        if field == fields[0] or any(getattr(row, field) not in _EMPTY for row in rows)
    ]
    cells = [
        [cell(field, getattr(row, field), now, whole=whole) for field in filled] for row in rows
    ]
    for index in (n for n, field in enumerate(filled) if field in _RUN_FIELDS and not whole):
        shorter = short_ids([line[index] for line in cells])
        for line in cells:
            line[index] = shorter[line[index]]
    return filled, cells


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Each run id, shortened to a prefix that is unique among them; other ids in full."""
    runs = {text for text in ids if _RUN_ID.fullmatch(text)}
    length = _SHORTEST_ID
    while length < _ID_LENGTH and len({text[:length] for text in runs}) < len(runs):
        length += 1
    return {text: text[:length] if text in runs else text for text in ids}


def cell(field: str, value: Any, now: Now, *, whole: bool = False) -> str:
    """A value in one line. Times are how long ago it was within a day, else when; `whole`: both."""
    if value is None or value == "":
        return "-"
    if (field == "at" or field.endswith("_at")) and isinstance(value, int | float):
        return moment(value, now, whole=whole)
    if isinstance(value, list | tuple):
        return ", ".join(cell("", item, now) for item in value) or "-"
    if isinstance(value, Address):
        return str(value)
    if isinstance(value, dict | msgspec.Struct):
        pairs = value if isinstance(value, dict) else msgspec.structs.asdict(value)
        return ", ".join(f"{name} {cell(name, item, now)}" for name, item in pairs.items()) or "-"
    return _text(field, value)


def _text(field: str, value: Any) -> str:
    if field in _KEYS:
        return spelled(str(value))
    return spelled(_word(value)) if field == "arguments" else _word(value)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, RunState):
        return as_people_see(value)
    if isinstance(value, Enum):
        return str(value.value)
    return " ".join(str(value).split())


def moment(at: float, now: Now, *, whole: bool = False) -> str:
    """A time: how long ago, or from a day on when; `whole`: both, with the zone."""
    ago = age(now.at - at)
    if not whole and abs(now.at - at) < _DAY:
        return ago
    try:
        # A zone without a name ("CET-1CEST") is this machine's.
        shown = datetime.fromtimestamp(at, UTC).astimezone(zone_named(now.zone))
        time = shown.strftime(f"{_DATE_AND_TIME}:%S %Z" if whole else _DATE_AND_TIME)
    except (ValueError, OverflowError, OSError):  # beyond the years 1 to 9999
        return ago
    return f"{time} ({ago})" if whole else time


def age(seconds: float) -> Sentence:
    """How long ago, or in how long, in one word or two."""
    if abs(seconds) < _MINUTE:
        return "just now" if seconds > -1 else f"in {-seconds:.0f} s"
    span = f"{abs(seconds) / _DAY:.0f} days"
    if abs(seconds) < _HOUR:
        span = f"{abs(seconds) / _MINUTE:.0f} min"
    elif abs(seconds) < 2 * _DAY:
        span = f"{abs(seconds) / _HOUR:.0f} h"
    return f"{span} ago" if seconds > 0 else f"in {span}"


def as_text(result: Any, now: Now) -> Sentence:
    """A result as a chat message: a list item by item, with long values on separate lines; a
    struct field by field; anything else as JSON."""
    if isinstance(result, str):
        return result
    if isinstance(result, list | tuple) and not result:
        return "Nothing found."
    if not has_fields(result):
        return _as_json(result)
    if not isinstance(result, list | tuple):
        return "\n".join(f"{name}: {value}" for name, value in pairs(result, now))
    fields, lines = grid(result, now)
    return "\n".join(_item(fields, line) for line in lines)


def has_fields(result: Any) -> bool:
    """Whether it is a struct, or a list of structs of one kind. Operations of other packages may
    return anything that JSON has."""
    rows = result if isinstance(result, list | tuple) else (result,)
    return all(isinstance(row, msgspec.Struct) and type(row) is type(rows[0]) for row in rows)


def _as_json(result: Any) -> Sentence:
    if result is None:
        return "Done."
    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode()


def pairs(result: Any, now: Now) -> Sequence[tuple[str, str]]:
    """The non-empty fields, one per line."""
    fields = [(name, getattr(result, name)) for name in result.__struct_fields__]
    return [
        (label_of(name), cell(name, value, now, whole=True))
        for name, value in fields
        if value not in (None, "", (), [], {})
    ]


def _item(fields: Sequence[str], line: Sequence[str]) -> str:
    """A row for a phone: the name, the short values, and the long values below."""
    short: list[str] = []
    long: list[str] = []
    cells = list(zip(fields, line, strict=True))[1:]
    # What is long first, so that a name which only repeats it is left out.
    for field, text in sorted(cells, key=lambda cell: cell[0] not in _LONG):
        if text in ("-", "no") or text in long:
            continue
        clipped = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
        (long if field in _LONG else short).append(heading(field) if text == "yes" else clipped)
    head = f"- `{line[0]}` {', '.join(short)}".rstrip()
    return "\n  ".join([head, *long])
