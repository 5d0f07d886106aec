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
from nanobot.store.database import schema, strict_types
from nanobot.store.quarantine.raw import Raw, RawRow
from nanobot.store.repositories import erasures
from nanobot.text import Sentence


class Flaw(msgspec.Struct, frozen=True):
    """An unreadable column, and why."""

    column: str
    reason: Sentence


_ERASED_IN: dict[str, Callable[[bytes], object]] = {
    erasures.ARCHIVED: msgspec.json.Decoder(erasures.InArchive).decode,
    erasures.PLUGIN: msgspec.json.Decoder(erasures.InPlugin).decode,
}
"""Kinds of erasures whose name has several parts."""
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
    found = [
        Flaw(column.name, reason)
        for column in table.columns
        if (reason := _unreadable(column, row[column.name], now))
    ]
    if table is schema.erasures:
        decode = _ERASED_IN.get(row["kind"].data.decode("utf-8", "replace"))
        odd = None if decode is None else _tried("name", decode, row["name"].data)
        found += [] if odd is None else [odd]
    return found


def _unreadable(column: sa.Column[Any], raw: Raw, now: float) -> Sentence:
    if raw.kind == "null":
        return "" if column.nullable else "it is empty"
    kinds = next((kinds for kind, kinds in _KINDS if isinstance(column.type, kind)), None)
    if kinds is not None and raw.kind not in kinds:
        return f"it holds {raw.kind}, not {kinds[0]}"
    if raw.kind in ("integer", "real"):
        return _bad_number(column, raw, now)
    if raw.kind == "text":
        return _bad_text(column, raw)
    decode = column.info.get("decode")
    found = None if decode is None else _tried(column.name, decode, raw.data)
    return "" if found is None else found.reason


def _bad_number(column: sa.Column[Any], raw: Raw, now: float) -> Sentence:
    check = strict_types.check_of(column.type)
    value: Any = float(raw.data) if raw.kind == "real" else int(raw.data)
    try:
        if check is not None:
            check(value)
    except RowUnreadable as error:
        return str(error)
    if _is_time(column) and abs(value) > _LARGEST:
        return f"{value:g} is not a time or number that was meant"
    if "lease" in column.info and value > now + _LEASE:
        return f"the lease runs until {value:g}, which is not a time that was meant"
    return ""


def _bad_text(column: sa.Column[Any], raw: Raw) -> Sentence:
    try:
        text = raw.data.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 ({error.reason} at byte {error.start})"
    choices = column.info.get("words")
    if choices is not None and text not in choices:
        return f"{json.dumps(text[:40])} is not one of its values"
    return ""


def _is_time(column: sa.Column[Any]) -> bool:
    return isinstance(column.type, sa.Float) and "any_time" not in column.info


def _tried(column: str, decode: Callable[[bytes], object], data: bytes) -> Flaw | None:
    try:
        decode(data)
    except (msgspec.MsgspecError, RowUnreadable, ValueError, TypeError, RecursionError) as error:
        return Flaw(column, " ".join(str(error).split())[:300])
    return None


class PlainCheck:
    """Whether rows that were read in the ordinary way have valid contents. The types of their
    values are checked as they are read.
    """

    def __init__(self, table: sa.Table) -> None:
        places = list(enumerate(table.columns))
        self._required = [n for n, column in places if not column.nullable]
        self._times = [n for n, column in places if _is_time(column)]
        self._leases = [n for n, column in places if "lease" in column.info]
        self._choices = [(n, words) for n, c in places if (words := c.info.get("words"))]
        self._decoded = [(n, read) for n, c in places if (read := c.info.get("decode"))]
        self._special = table is schema.erasures

    def __call__(self, row: Sequence[Any], now: float) -> bool:
        return not (
            self._special
            or any(row[n] is None for n in self._required)
            or any(row[n] is not None and abs(row[n]) > _LARGEST for n in self._times)
            or any(row[n] is not None and row[n] > now + _LEASE for n in self._leases)
            or any(row[n] is not None and row[n] not in words for n, words in self._choices)
            or any(row[n] is not None and _tried("", read, row[n]) for n, read in self._decoded)
        )
