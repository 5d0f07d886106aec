"""Pictures as small as they get: real headers, and no more."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 1, height: int = 1, padding: int = 0) -> bytes:
    """A PNG that any viewer shows (if it is 1 x 1), `padding` bytes longer."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixel = zlib.compress(b"\0\0")
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", pixel), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + b"\0" * padding


def jpeg(width: int = 1, height: int = 1) -> bytes:
    """The beginning of a JPEG, with a comment before its frame, as cameras write them."""
    comment = b"\xff\xfe" + struct.pack(">H", 10) + b"a camera"
    frame = b"\xff\xff\xc0" + struct.pack(">HBHHB", 8, 8, height, width, 1)
    return b"\xff\xd8" + comment + frame


def gif(width: int = 1, height: int = 1) -> bytes:
    """The beginning of a GIF."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(kind: str, width: int = 1, height: int = 1) -> bytes:
    """The beginning of a WebP of one of its three kinds: `VP8 `, `VP8L`, `VP8X`."""
    sizes = {
        "VP8 ": b"\0" * 6 + struct.pack("<HH", width, height),
        "VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        "VP8X": b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
    }
    data = sizes[kind]
    body = b"WEBP" + kind.encode() + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
