"""The chain of hashes over the rows of a log: no row can change without all later ones."""

from __future__ import annotations

import hashlib

import msgspec

GENESIS = b"\0" * 32
"""What the first row of a log is chained to."""


class ChainLink(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a row that the chain hashes."""

    session_key: str
    seq: int
    run_id: str
    kind: str
    at: float
    digest: bytes


def payload_digest(salt: bytes, payload: bytes) -> bytes:
    """The digest that the chain hashes in place of the payload."""
    return hashlib.sha256(salt + payload).digest()


def link_hash(previous: bytes, link: ChainLink) -> bytes:
    """Hash a row: its header, its payload's digest, and the hash of the previous row."""
    return hashlib.sha256(previous + msgspec.json.encode(link)).digest()
