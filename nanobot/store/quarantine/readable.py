"""What each column may contain, derived from the tables and from the types that the product decodes
their values as.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, get_args

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable
from nanobot.messages import Attachment, InboundMessage, Origin, OutboundMessage, Role
from nanobot.session import approvals, entries
from nanobot.session.chain import GENESIS
from nanobot.session.runs import PromptSnapshot, RunUsage
from nanobot.session.states import RunKind, RunState
from nanobot.store.database import schema, strict_types
from nanobot.store.quarantine.raw import Raw, RawRow
from nanobot.store.repositories import erasures
from nanobot.text import Sentence

Column: TypeAlias = tuple[str, str]


class Flaw(msgspec.Struct, frozen=True):
    """An unreadable column, and why."""

    column: str
    reason: Sentence


_PARTS = frozenset({"pending", "sending", "sent", "preview"})
_OUTBOUND = _PARTS | {"dead", "held", "direct", "digested", "dropped"}
_ERASURES = frozenset(
    {
        *(erasures.SESSION, erasures.QUOTES, erasures.BLOB, erasures.WORDS),
        *(erasures.LOG_WORDS, erasures.LOGGED, erasures.ARCHIVED, erasures.PLUGIN),
    }
)

_ERASED_IN = {erasures.ARCHIVED: erasures.InArchive, erasures.PLUGIN: erasures.InPlugin}
"""Kinds of erasures whose name has several parts."""

CHOICES: Mapping[Column, frozenset[str]] = {
    ("runs", "kind"): frozenset(RunKind),
    ("runs", "state"): frozenset(RunState),
    ("runs", "origin"): frozenset(Origin),
    ("runs", "role"): frozenset(Role),
    ("inbound", "role"): frozenset(Role),
    ("inbound", "origin"): frozenset(Origin),
    ("inbound", "state"): frozenset({"pending", "performing", "taken", "settled"}),
    ("outbound", "state"): _OUTBOUND,
    ("outbound_parts", "state"): _PARTS,
    ("approvals", "state"): frozenset(get_args(approvals.State)),
    ("entries", "kind"): frozenset(
        str(kind.__struct_config__.tag) for kind in get_args(entries.Body)
    ),
    ("erasures", "kind"): _ERASURES,
    ("quarantine", "state"): frozenset({"moved", "repaired", "restored"}),
}
"""Columns of the core's tables that contain one of a set of words."""


def _json_of(kind: Any) -> Callable[[bytes], object]:
    return msgspec.json.Decoder(kind).decode


_DECODED: Mapping[Column, Callable[[bytes], object]] = {
    ("inbound", "body"): _json_of(InboundMessage),
    ("outbound", "body"): _json_of(OutboundMessage),
    ("outbound_parts", "file"): _json_of(
        Attachment | Annotated[list[Attachment], msgspec.Meta(min_length=1)]
    ),
    ("runs", "usage"): _json_of(RunUsage),
    ("approvals", "body"): _json_of(approvals.Approval),
    ("prompts", "body"): _json_of(PromptSnapshot),
    ("entries", "payload"): entries.decode,
}
"""Columns of the core's tables whose bytes are decoded."""
_HASHES = frozenset({("sessions", "head_hash"), ("entries", "digest"), ("entries", "hash")})
_LEASE = 86_400.0
"""The longest time in seconds that a lease may run from now: a longer one would lock every process
out.
"""
_LARGEST = 2.6e11
"""Larger than any valid time (the year 9999), price or sum of dollars."""
_ANY_TIME = ("entries", "at")
"""It is part of the chain and only displayed."""
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
        place = _ERASED_IN.get(row["kind"].data.decode("utf-8", "replace"))
        odd = None if place is None else _tried("name", _json_of(place), row["name"].data)
        found += [] if odd is None else [odd]
    return found


def _unreadable(column: sa.Column[Any], raw: Raw, now: float) -> Sentence:
    if raw.kind == "null":
        return "" if column.nullable else "it is empty"
    kinds = next((kinds for kind, kinds in _KINDS if isinstance(column.type, kind)), None)
    if kinds is not None and raw.kind not in kinds:
        return f"it holds {raw.kind}, not {kinds[0]}"
    at = (column.table.name, column.name)
    if raw.kind in ("integer", "real"):
        return _bad_number(column, at, raw, now)
    if raw.kind == "text":
        return _bad_text(column, raw)
    if at in _HASHES and len(raw.data) != len(GENESIS):
        return f"a hash has {len(GENESIS)} bytes and this has {len(raw.data)}"
    decode = _decoder(column)
    found = None if decode is None else _tried(column.name, decode, raw.data)
    return "" if found is None else found.reason


def _bad_number(column: sa.Column[Any], at: Column, raw: Raw, now: float) -> Sentence:
    check = strict_types.check_of(column.type)
    value: Any = float(raw.data) if raw.kind == "real" else int(raw.data)
    try:
        if check is not None:
            check(value)
    except RowUnreadable as error:
        return str(error)
    if isinstance(column.type, sa.Float) and at != _ANY_TIME and abs(value) > _LARGEST:
        return f"{value:g} is not a time or number that was meant"
    if "lease" in column.info and value > now + _LEASE:
        return f"the lease runs until {value:g}, which is not a time that was meant"
    return ""


def _bad_text(column: sa.Column[Any], raw: Raw) -> Sentence:
    try:
        text = raw.data.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 ({error.reason} at byte {error.start})"
    choices = words_of(column)
    if choices is not None and text not in choices:
        return f"{json.dumps(text[:40])} is not one of its values"
    return ""


def words_of(column: sa.Column[Any]) -> frozenset[str] | None:
    """The words that a column may contain; None: any text."""
    return column.info.get("words", CHOICES.get((column.table.name, column.name)))


def _decoder(column: sa.Column[Any]) -> Callable[[bytes], object] | None:
    return column.info.get("decode", _DECODED.get((column.table.name, column.name)))


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
        places = [(n, column, (table.name, column.name)) for n, column in enumerate(table.columns)]
        self._required = [n for n, column, _ in places if not column.nullable]
        self._times = [
            n for n, column, at in places if isinstance(column.type, sa.Float) and at != _ANY_TIME
        ]
        self._leases = [n for n, column, _ in places if "lease" in column.info]
        self._hashes = [n for n, _, at in places if at in _HASHES]
        self._choices = [(n, words) for n, column, _ in places if (words := words_of(column))]
        self._decoded = [(n, read) for n, column, _ in places if (read := _decoder(column))]
        self._special = table is schema.erasures

    def __call__(self, row: Sequence[Any], now: float) -> bool:
        return not (
            self._special
            or any(row[n] is None for n in self._required)
            or any(row[n] is not None and abs(row[n]) > _LARGEST for n in self._times)
            or any(row[n] is not None and row[n] > now + _LEASE for n in self._leases)
            or any(len(row[n]) != len(GENESIS) for n in self._hashes)
            or any(row[n] is not None and row[n] not in words for n, words in self._choices)
            or any(row[n] is not None and _tried("", read, row[n]) for n, read in self._decoded)
        )
