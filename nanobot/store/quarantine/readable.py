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
from nanobot.seam.faces import Interface
from nanobot.seam.installed import provided
from nanobot.session import approvals, entries
from nanobot.session.chain import GENESIS
from nanobot.session.provenance import Provenance
from nanobot.session.run_types import Report
from nanobot.session.runs import PromptSnapshot, RunUsage
from nanobot.session.states import RunKind, RunState
from nanobot.store.database import schema, strict_types
from nanobot.store.quarantine.raw import Raw, RawRow
from nanobot.store.repositories import erasures
from nanobot.text import Sentence

Column: TypeAlias = tuple[str, str]
JOB_PLAN: Interface[type[Any]] = Interface("job_plan")
"""What the plugin that does jobs keeps of each."""


class Flaw(msgspec.Struct, frozen=True):
    """An unreadable column, and why."""

    column: str
    reason: Sentence


_PARTS = frozenset({"pending", "sending", "sent", "preview"})
_OUTBOUND = _PARTS | {"dead", "held", "direct", "digested", "dropped"}
_CALLS = frozenset({"open", "settled", "estimated", "failed", "lost", "replaced"})
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
    ("background_commands", "role"): frozenset(Role),
    ("pairings", "state"): frozenset({"asked", "approved", "revoked"}),
    ("pairings", "role"): frozenset({*Role, ""}),  # none yet, while the approval is pending
    ("access_tokens", "kind"): frozenset({"token", "browser"}),
    ("access_tokens", "role"): frozenset(Role),
    ("tasks", "report"): frozenset(get_args(Report)),
    ("jobs", "state"): frozenset({"active", "paused", "done", "removed", "system"}),
    ("occurrences", "status"): frozenset(
        {"running", "waiting", "done", "failed", "skipped", "missed", "cancelled"}
    ),
    ("memories", "state"): frozenset({"proposed", "active", "retracted", "forgotten"}),
    ("memories", "kind"): frozenset({"fact", "note", "summary"}),
    ("model_call_costs", "state"): _CALLS,
    ("entries", "kind"): frozenset(
        str(kind.__struct_config__.tag) for kind in get_args(entries.Body)
    ),
    ("erasures", "kind"): _ERASURES,
    ("quarantine", "state"): frozenset({"moved", "repaired", "restored"}),
}
"""Columns that contain one of a set of words."""
FREE = frozenset({("tainted_files", "kind")})
"""Columns with such a name that contain free text."""


def _json_of(kind: Any) -> Callable[[bytes], object]:
    return msgspec.json.Decoder(kind).decode


def _plan(encoded: bytes) -> object:
    return msgspec.json.decode(encoded, type=provided(JOB_PLAN) or dict[str, Any])


def _described(encoded: bytes) -> object:
    """A tool's description and schema. msgspec's decoder refuses halves of surrogate pairs, which
    programs may send."""
    return msgspec.convert(json.loads(encoded), tuple[str, dict[str, Any]])


_DECODED: Mapping[Column, Callable[[bytes], object]] = {
    ("inbound", "body"): _json_of(InboundMessage),
    ("outbound", "body"): _json_of(OutboundMessage),
    ("outbound_parts", "file"): _json_of(
        Attachment | Annotated[list[Attachment], msgspec.Meta(min_length=1)]
    ),
    ("runs", "usage"): _json_of(RunUsage),
    ("tasks", "input"): _json_of(Any),
    ("approvals", "body"): _json_of(approvals.Approval),
    ("jobs", "body"): _plan,
    ("occurrences", "body"): _json_of(str),
    ("prompts", "body"): _json_of(PromptSnapshot),
    ("memories", "provenance"): _json_of(Provenance),
    ("entries", "payload"): entries.decode,
    ("mcp_tools", "said"): _described,
    ("mcp_tools", "accepted"): lambda accepted: accepted and _described(accepted),
}
"""Columns whose bytes are decoded."""
_HASHES = frozenset({("sessions", "head_hash"), ("entries", "digest"), ("entries", "hash")})
_LEASES: Mapping[Column, float] = {
    ("sessions", "lease_until"): 86_400.0,
    ("channel_leases", "until"): 86_400.0,
}
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
        return _bad_text(at, raw)
    if at in _HASHES and len(raw.data) != len(GENESIS):
        return f"a hash has {len(GENESIS)} bytes and this has {len(raw.data)}"
    decode = _DECODED.get(at)
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
    longest = _LEASES.get(at)
    if longest is not None and value > now + longest:
        return f"the lease runs until {value:g}, which is not a time that was meant"
    return ""


def _bad_text(at: Column, raw: Raw) -> Sentence:
    try:
        text = raw.data.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 ({error.reason} at byte {error.start})"
    choices = CHOICES.get(at)
    if choices is not None and text not in choices:
        return f"{json.dumps(text[:40])} is not one of its values"
    return ""


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
        self._leases = [(n, _LEASES[at]) for n, _, at in places if at in _LEASES]
        self._hashes = [n for n, _, at in places if at in _HASHES]
        self._choices = [(n, CHOICES[at]) for n, _, at in places if at in CHOICES]
        self._decoded = [(n, _DECODED[at]) for n, _, at in places if at in _DECODED]
        self._special = table is schema.erasures

    def __call__(self, row: Sequence[Any], now: float) -> bool:
        return not (
            self._special
            or any(row[n] is None for n in self._required)
            or any(row[n] is not None and abs(row[n]) > _LARGEST for n in self._times)
            or any(row[n] is not None and row[n] > now + most for n, most in self._leases)
            or any(len(row[n]) != len(GENESIS) for n in self._hashes)
            or any(row[n] is not None and row[n] not in words for n, words in self._choices)
            or any(row[n] is not None and _tried("", read, row[n]) for n, read in self._decoded)
        )
