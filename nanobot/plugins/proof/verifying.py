"""Checks an export, line by line and without a store. What is wrong is named by the first entry
that does not fit.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from binascii import Error as NotBase64
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from nanobot.errors import StoreCorrupt, UsageError
from nanobot.plugins.proof.format import (
    ERASED_KIND,
    FORMAT,
    VERSION,
    ExportedEntry,
    ExportEnd,
    ExportHead,
    line,
)
from nanobot.plugins.proof.untold import Untold
from nanobot.session.chain import GENESIS, link_hash, payload_digest
from nanobot.text import pattern

_LONGEST = 256 * 1024 * 1024
_HEX = pattern(r"[0-9a-f]{64}")
_END = b'{"end":'
T = TypeVar("T", bound=msgspec.Struct)


class ExportBroken(StoreCorrupt):
    """An export that was changed, cut, or is none."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """An export in which everything fits."""

    session_key: str
    first: int
    """The number of its first entry."""
    last: int
    """That of its last entry."""
    head: str
    """The hash of its last entry."""
    proven: int
    """The last entry that the given head proves; 0 without one."""
    redacted: int
    """How many contents were left out of it."""
    erased: int
    """How many contents were erased."""


def head_of(text: str) -> bytes | None:
    """A head as a person gives it; None for none. Raises UsageError."""
    if not text:
        return None
    if not _HEX.fullmatch(text.strip().lower()):
        raise UsageError(f"{text[:80]!r} is not a head: 64 hexadecimal digits are")
    return bytes.fromhex(text.strip())


def verified_file(path: Path, head: bytes | None) -> Proof:
    """Check a file. Raises ExportBroken, and UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return Verifier(str(path), head).verified(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}; check its path") from None


class Verifier:
    """The check of one export. `name`: what errors call it."""

    def __init__(self, name: str, head: bytes | None = None) -> None:
        self._name = name
        self._head = head
        self._session = ""
        self._link = b""
        self._last = 0
        self._proven = 0
        self._redacted = 0
        self._erased = 0
        self._untold = Untold()
        self._sha256 = hashlib.sha256()

    def verified(self, file: BinaryIO) -> Proof:
        """Check all lines. Raises ExportBroken."""
        first = self._begin(file) + 1
        while not (data := self._read(file)).startswith(_END):
            if not data:
                raise self._broken("the file ends here, without its last line: it was cut")
            self._entry(data)
        self._end(data)
        if file.read(1):
            raise self._broken("the file goes on behind its last line")
        if self._head is not None and not self._proven:
            raise ExportBroken(
                f"{self._name} does not contain the head {self._head.hex()}: its tail was cut, or "
                "it is of another log"
            )
        return Proof(
            session_key=self._session,
            first=first,
            last=self._last,
            head=self._link.hex(),
            proven=self._proven,
            redacted=self._redacted,
            erased=self._erased,
        )

    def _read(self, file: BinaryIO) -> bytes:
        data = file.readline(_LONGEST)
        if len(data) == _LONGEST:
            raise self._broken(f"its line is longer than {_LONGEST:,} bytes")
        return data

    def _begin(self, file: BinaryIO) -> int:
        """Read the first line; returns the number of the entry before the first."""
        data = self._read(file)
        try:
            found = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ExportBroken(
                f"{self._name} is not the export of a log: `nanobot audit export` writes one"
            )
        if isinstance(found.get("version"), int) and found["version"] > VERSION:
            raise ExportBroken(
                f"{self._name} has version {found['version']} of the format, and this nanobot "
                f"reads {VERSION}: verify it with the version that wrote it"
            )
        head = self._decoded(data, ExportHead, "the first line")
        fits = head.version == VERSION and head.after >= 0 and _HEX.fullmatch(head.link)
        self._link = bytes.fromhex(head.link) if fits else b""
        if not fits or (head.after == 0) != (self._link == GENESIS):
            raise ExportBroken(f"the first line of {self._name} was changed")
        self._session, self._last = head.session_key, head.after
        self._sha256.update(data)
        return head.after

    def _entry(self, data: bytes) -> None:
        entry = self._decoded(data, ExportedEntry, f"entry {self._last + 1}")
        if entry.seq != self._last + 1:
            raise self._broken(f"entry {entry.seq} is in its place")
        if entry.session_key != self._session:
            raise self._broken(f"it is of another session, {entry.session_key[:200]}")
        try:
            digest = b64decode(entry.digest, validate=True)
            salt = b64decode(entry.salt, validate=True)
            self._link = link_hash(self._link, entry.link())
        except (NotBase64, ValueError):
            raise self._broken("its digest or salt is not base64") from None
        self._content(entry, salt, digest)
        if self._link.hex() != entry.hash:
            raise self._broken("its hash does not follow from it and the entry before")
        self._last = entry.seq
        if self._link == self._head:
            self._proven = self._last
        self._sha256.update(data)

    def _content(self, entry: ExportedEntry, salt: bytes, digest: bytes) -> None:
        if entry.withheld:
            if entry.payload or entry.salt:
                raise self._broken(f"its content is there, and it is marked as {entry.withheld}")
            if entry.withheld == "redacted":
                self._redacted += 1
            else:
                self._erased += 1
                self._untold.emptied(entry.seq)
            return
        if payload_digest(salt, entry.payload.encode("utf-8", "surrogatepass")) != digest:
            raise self._broken("its content does not have its digest")
        if entry.kind == ERASED_KIND:
            self._untold.told(entry.payload)

    def _end(self, data: bytes) -> None:
        end = self._decoded(data, ExportEnd, "the last line")
        if self._untold:
            raise ExportBroken(
                f"entry {self._untold.first} of {self._name} does not fit: it is marked as erased, "
                "and no later entry says so"
            )
        if end.end != self._last or end.head != self._link.hex():
            raise self._broken("it is missing: the last line names another end")
        if end.sha256 != self._sha256.hexdigest():
            raise ExportBroken(
                f"the lines of {self._name} do not have the digest that its last line names: "
                "one of these was changed"
            )

    def _decoded(self, data: bytes, kind: type[T], what: str) -> T:
        """The struct on a line, which must be written as an export writes it."""
        try:
            found = msgspec.json.decode(data, type=kind)
            if line(found) == data:
                return found
            why = "it is not written as an export writes it"
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            why = f"{error}"
        raise ExportBroken(f"{what} of {self._name} does not fit: {why}")

    def _broken(self, why: str) -> ExportBroken:
        return ExportBroken(f"entry {self._last + 1} of {self._name} does not fit: {why}")
