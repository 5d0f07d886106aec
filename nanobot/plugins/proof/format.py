"""The lines of an export: a head, an entry a line, an end. See docs/proof.md.

A line of an entry begins with exactly the bytes that the chain hashes.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Literal, TypeAlias

import msgspec

from nanobot.session.chain import ChainLink

FORMAT = "nanobot-log"
VERSION = 1
ERASED_KIND = "erased"

Withheld: TypeAlias = Literal["", "erased", "redacted"]


class ExportHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line. `after` and `link`: the number and the hash (hex) of the entry before the
    first one; 0 and zeros at the beginning of a log.
    """

    format: str
    version: int
    session_key: str
    after: int
    link: str


class ExportedEntry(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """An entry."""

    session_key: str
    seq: int
    run_id: str
    kind: str
    at: float
    digest: str
    """In base64."""
    hash: str
    """In hexadecimal."""
    salt: str = ""
    """In base64."""
    payload: str = ""
    """The stored text."""
    withheld: Withheld = ""
    """Why the payload is not there: erased from the log, or left out of this export."""

    def link(self) -> ChainLink:
        """What the chain hashes of it. Raises ValueError for a digest that is not base64."""
        return ChainLink(
            session_key=self.session_key,
            seq=self.seq,
            run_id=self.run_id,
            kind=self.kind,
            at=self.at,
            digest=b64decode(self.digest, validate=True),
        )


class ExportEnd(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line. `head`: the hash of the last entry; `sha256`: of all lines before (hex)."""

    end: int
    head: str
    sha256: str


def line(of: msgspec.Struct) -> bytes:
    """A line of an export."""
    return msgspec.json.encode(of) + b"\n"
