"""The measures of a picture, from its first bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def dimensions(content: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, JPEG, WebP or GIF as its header tells; None for anything else."""
    try:
        if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
            width, height = struct.unpack_from(">II", content, 16)
            return width, height
        if content.startswith((b"GIF87a", b"GIF89a")):
            width, height = struct.unpack_from("<HH", content, 6)
            return width, height
        if content.startswith(b"\xff\xd8"):
            return next(_jpeg(content), None)
        if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
            return _webp(content)
    except (struct.error, IndexError):
        return None
    return None


def _jpeg(content: bytes) -> Iterator[tuple[int, int]]:
    at = 2
    while content[at] == 0xFF:
        marker = content[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", content, at + 5)
            yield width, height
        if marker == 0xFF:
            at += 1
        else:
            at += 2 + struct.unpack_from(">H", content, at + 2)[0]


def _webp(content: bytes) -> tuple[int, int] | None:
    kind = content[12:16]
    if kind == b"VP8X":
        return (
            1 + int.from_bytes(content[24:27], "little"),
            1 + int.from_bytes(content[27:30], "little"),
        )
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", content, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", content, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None
