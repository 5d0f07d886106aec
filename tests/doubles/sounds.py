"""Recordings that are well-formed: Opus in Ogg, as speech services make it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

PRE_SKIP = 312
_PACKET_SECONDS = 0.02
_MOST = 50


def opus(packets: Sequence[int]) -> bytes:
    """20 ms for each packet, of so many bytes."""
    head = b"OpusHead" + struct.pack("<BBHIHB", 1, 1, PRE_SKIP, 48_000, 0, 0)
    tags = b"OpusTags" + struct.pack("<I", 0) + struct.pack("<I", 0)
    pages = [_page(0, [head], 2), _page(0, [tags])]
    for start in range(0, len(packets), _MOST):
        group = packets[start : start + _MOST]
        granule = PRE_SKIP + (start + len(group)) * int(48_000 * _PACKET_SECONDS)
        pages.append(_page(granule, [bytes(size) for size in group]))
    return b"".join(pages)


def _page(granule: int, packets: Sequence[bytes], flags: int = 0) -> bytes:
    table = b"".join(b"\xff" * (len(p) // 255) + bytes([len(p) % 255]) for p in packets)
    header = struct.pack("<4sBBqIIIB", b"OggS", 0, flags, granule, 1, 0, 0, len(table))
    return header + table + b"".join(packets)
