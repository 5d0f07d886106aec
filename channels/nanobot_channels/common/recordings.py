"""Recordings: the length of an Opus recording in Ogg, and roughly how loud it is where (RFC 3533,
RFC 7845).

The sound itself is not decoded. Speech encoders use more bytes for loud moments than for quiet
ones, so the sizes of the packets give a similar curve.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_HEADER = struct.Struct("<4sBBqIIIB")
_RATE = 48_000
_POINTS_A_SECOND = 10
_MOST_POINTS = 256
_LOUDEST = 255


class Recording(NamedTuple):
    """Seconds, and points from 0 to 255: ten a second, 256 at most, one at least."""

    seconds: float
    waveform: bytes


def measure(content: bytes) -> Recording | None:
    """The length and loudness of a recording; None if it is not Opus in Ogg, or is broken."""
    sizes: list[int] = []
    samples = skipped = 0
    for granule, lengths, body in _pages(content):
        if body.startswith(b"OpusHead") and len(body) >= 12:
            skipped = int.from_bytes(body[10:12], "little")
        elif not body.startswith(b"OpusTags"):
            sizes += lengths
        samples = max(samples, granule)
    seconds = (samples - skipped) / _RATE
    if not sizes or seconds <= 0:
        return None
    points = min(max(round(seconds * _POINTS_A_SECOND), 1), _MOST_POINTS)
    return Recording(seconds, _drawn(sizes, points))


def _pages(content: bytes) -> Iterator[tuple[int, list[int], bytes]]:
    """Each page's granule position, the lengths of its packets, and its content."""
    at = 0
    while at + _HEADER.size <= len(content):
        magic, _, _, granule, _, _, _, segments = _HEADER.unpack_from(content, at)
        start = at + _HEADER.size
        table = content[start : start + segments]
        at = start + segments + sum(table)
        if magic != b"OggS" or len(table) < segments or at > len(content):
            return
        yield granule, _lengths(table), content[start + segments : at]


def _lengths(table: bytes) -> list[int]:
    lengths, length = [], 0
    for value in table:
        length += value
        if value < 255:  # the packet ends here
            lengths.append(length)
            length = 0
    return lengths


def _drawn(sizes: Sequence[int], points: int) -> bytes:
    groups = [
        sizes[len(sizes) * n // points : len(sizes) * (n + 1) // points] for n in range(points)
    ]
    means = [sum(group) / len(group) if group else 0.0 for group in groups]
    least, most = min(sizes), max(sizes)
    spread = max(most - least, 1)
    return bytes(max(min(round((mean - least) / spread * _LOUDEST), _LOUDEST), 0) for mean in means)
