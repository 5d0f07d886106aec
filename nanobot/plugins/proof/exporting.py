"""Writes an export: it checks the chain of the log meanwhile, and holds one page in memory."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncGenerator

import msgspec

from nanobot.errors import RowUnreadable, StoreCorrupt
from nanobot.plugins.proof.format import (
    ERASED_KIND,
    FORMAT,
    VERSION,
    ExportedEntry,
    ExportEnd,
    ExportHead,
    line,
)
from nanobot.plugins.proof.redaction import Redaction
from nanobot.plugins.proof.store.log_rows import LogPages, Place, Row
from nanobot.plugins.proof.untold import Untold
from nanobot.session.chain import link_hash, payload_digest


class Exported(msgspec.Struct, kw_only=True):
    """What an export holds so far."""

    last: int = 0
    entries: int = 0
    head: bytes = b""
    redacted: int = 0
    erased: int = 0


class Export:
    """One export of the log of a session."""

    def __init__(self, pages: LogPages, key: str, redaction: Redaction, after: int = 0) -> None:
        self._pages = pages
        self._key = key
        self._redaction = redaction
        self._after = after
        self._sha256 = hashlib.sha256()
        self._untold = Untold()
        self.exported = Exported()

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The export, some lines at a time: up to the entry that is the last when it begins, or
        until each erased entry is named by a later one.

        Raises UnknownId, StoreCorrupt that names the first bad entry, and RowUnreadable.
        """
        place = await self._pages.start(self._key, self._after)
        head = ExportHead(
            format=FORMAT,
            version=VERSION,
            session_key=self._key,
            after=place.seq,
            link=place.link.hex(),
        )
        self.exported.head, self.exported.last = place.link, place.seq
        yield self._counted(line(head))
        until = -1
        while True:
            page = await self._pages.following(self._key, place)
            until = page.last if until < 0 or self._untold else until
            rows = [row for row in page.rows if row.seq <= until]
            if rows:
                yield self._counted(await asyncio.to_thread(self._encoded, rows))
                place = Place(rows[-1].seq, bytes(rows[-1].hash))
            if place.seq >= until and not self._untold:
                break
            if not page.rows:
                self._check_whole(place.seq, page.last)
        end = ExportEnd(
            end=place.seq, head=self.exported.head.hex(), sha256=self._sha256.hexdigest()
        )
        yield line(end)

    def _check_whole(self, seq: int, last: int) -> None:
        if seq < last:
            raise StoreCorrupt(f"the log of {self._key} was cut: entry {last} is missing")
        first = self._untold.first
        raise StoreCorrupt(f"entry {first} of {self._key} was emptied without saying so")

    def _counted(self, data: bytes) -> bytes:
        self._sha256.update(data)
        return data

    def _encoded(self, rows: list[Row]) -> bytes:
        return b"".join(line(self._entry(row)) for row in rows)

    def _entry(self, row: Row) -> ExportedEntry:
        so_far = self.exported
        entry = ExportedEntry(
            session_key=self._key,
            seq=row.seq,
            run_id=row.run_id,
            kind=row.kind,
            at=row.at,
            digest=_base64(row.digest),
            hash=bytes(row.hash).hex(),
        )
        so_far.head = link_hash(so_far.head, entry.link())
        if row.seq != so_far.last + 1 or so_far.head != row.hash:
            raise StoreCorrupt(f"the log of {self._key} is broken at entry {row.seq}")
        so_far.last, so_far.entries = row.seq, so_far.entries + 1
        if row.payload is None:
            so_far.erased += 1
            self._untold.emptied(row.seq)
            return msgspec.structs.replace(entry, withheld="erased")
        if payload_digest(row.salt or b"", row.payload) != row.digest:
            raise StoreCorrupt(f"entry {row.seq} of {self._key} was changed after it was written")
        payload = self._text(row.seq, row.payload)
        if row.kind == ERASED_KIND:
            self._untold.told(payload)
        if self._redaction.withholds(row.kind, payload):
            so_far.redacted += 1
            return msgspec.structs.replace(entry, withheld="redacted")
        return msgspec.structs.replace(entry, salt=_base64(row.salt or b""), payload=payload)

    def _text(self, seq: int, payload: bytes) -> str:
        try:
            return bytes(payload).decode()
        except UnicodeDecodeError as error:
            message = f"entry {seq} of {self._key} cannot be read: {error}"
            raise RowUnreadable(message, "entries", (self._key, seq)) from None


def _base64(data: bytes) -> str:
    return b64encode(data).decode()
