"""The note below a list about rows that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from nanobot.session.quarantine import Quarantined
from nanobot.text import Sentence

MOST_NAMED = 5
Command: TypeAlias = str
"""Said in every language as it is written."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an operation, and rows that belong in it but are unreadable. Between processes
    the result is JSON, a msgspec.Raw."""

    result: Any
    unreadable: tuple[Quarantined, ...] = ()


def below(rows: Sequence[Quarantined], command: Command) -> list[Sentence]:
    """The note below a list about rows that it cannot show; `command` begins the commands that show
    a row and restore it."""
    if not rows:
        return []
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    more = len(rows) - MOST_NAMED
    return [
        f"{count} could not be read:",
        *(f"- #{each.id} {each.table} {each.key}: {why(each)}" for each in rows[:MOST_NAMED]),
        *([f"- and {more} more: {command} list"] if more > 0 else []),
        f"Show one: {command} show {rows[0].id}. Put it back: {command} restore {rows[0].id}",
    ]


def why(row: Quarantined) -> str:
    """The column that could not be read, and the reason."""
    return f"{row.column}: {row.reason}"
