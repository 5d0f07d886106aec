"""What each column may contain, derived from the tables and from the types that the product decodes
their values as.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable
from nanobot.store.database import strict_types
from nanobot.store.quarantine.raw import Raw, RawRow
from nanobot.text import Sentence


class Flaw(msgspec.Struct, frozen=True):
    """An unreadable column, and why."""

    column: str
    reason: Sentence


_LEASE = 86_400.0
"""The longest time in seconds that a lease may run from now: a longer one would lock every process
out.
"""
_LARGEST = 2.6e11
"""Larger than any valid time (the year 9999), price or sum of dollars."""
_KINDS: tuple[tuple[type[sa.types.TypeEngine[Any]], tuple[str, ...]], ...] = (
    (sa.Boolean, ("integer",)),
    (sa.String, ("text",)),
    (sa.Integer, ("integer",)),
    (sa.Float, ("real", "integer")),
    (sa.LargeBinary, ("blob",)),
)


def flaws(table: sa.Table, row: RawRow, now: float) -> list[Flaw]:
    """Why a row is unreadable, column by column; empty if it is readable."""
    found = [(column.name, _unreadable(column, row[column.name], now)) for column in table.columns]
    if "row" in table.info:
        given = {name: raw.data for name, raw in row.items()}
        last = str(list(table.primary_key)[-1].name)
        found.append((last, _refused(table.info["row"], given)))
    return [Flaw(name, reason) for name, reason in found if reason]


def readable(table: sa.Table, row: Sequence[Any], now: float) -> bool:
    """Whether a row that was read in the ordinary way has valid contents."""
    pairs = zip(table.columns, row, strict=True)
    return "row" not in table.info and not any(_wrong(*pair, now) for pair in pairs)


def _unreadable(column: sa.Column[Any], raw: Raw, now: float) -> Sentence:
    kinds = next((kinds for kind, kinds in _KINDS if isinstance(column.type, kind)), None)
    if kinds is not None and raw.kind not in (*kinds, "null"):
        return f"it holds {raw.kind}, not {kinds[0]}"
    try:
        value = raw.value
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 ({error.reason} at byte {error.start})"
    return _wrong(column, value, now)


def _wrong(column: sa.Column[Any], value: Any, now: float) -> Sentence:
    """Why a value is unreadable that the database stores as its column's type says."""
    if value is None:
        return "" if column.nullable else "it is empty"
    words, decode = column.info.get("words"), column.info.get("decode")
    if words is not None and value not in words:
        return f"{json.dumps(value[:40])} is not one of its values"
    if decode is not None:
        return _refused(decode, value)
    return _bad_number(column, value, now) if isinstance(value, int | float) else ""


def _refused(decode: Callable[[Any], object], data: object) -> Sentence:
    try:
        decode(data)
    except (msgspec.MsgspecError, RowUnreadable, ValueError, TypeError, RecursionError) as error:
        return " ".join(str(error).split())[:300]
    return ""


def _bad_number(column: sa.Column[Any], value: float, now: float) -> Sentence:
    check = strict_types.check_of(column.type)
    try:
        if check is not None:
            check(value)
    except RowUnreadable as error:
        return str(error)
    is_time = isinstance(column.type, sa.Float) and "any_time" not in column.info
    if is_time and abs(value) > _LARGEST:
        return f"{value:g} is not a time or number that was meant"
    if "lease" in column.info and value > now + _LEASE:
        return f"the lease runs until {value:g}, which is not a time that was meant"
    return ""
