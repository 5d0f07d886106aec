"""Image kind and size, read from the first bytes without decoding the image."""

from __future__ import annotations

import struct
from collections.abc import Callable

import msgspec

MAX_BYTES = 5_000_000
"""Anthropic's limit for one image, the smallest of the large providers' limits."""
MAX_SIDE = 8_000
"""Pixels; also Anthropic's limit."""

# The JPEG markers that begin a frame and thus hold its size; DHT, JPG and DAC lie in the same
# range.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class Image(msgspec.Struct, frozen=True):
    """The information in an image's header."""

    mime: str
    width: int
    height: int


def look(content: bytes) -> Image | None:
    """The image that begins with these bytes, if models accept its kind: JPEG, PNG, GIF or WebP.
    None for everything else, and for an invalid header.
    """
    for signature, read in _KINDS:
        if content.startswith(signature):
            try:
                picture = read(content)
            except (struct.error, IndexError):
                return None
            return picture if picture is not None and picture.width > 0 < picture.height else None
    return None


def too_large(image: Image, size: int) -> str:
    """The reason, for people, why no model would accept it; "" if one would."""
    if max(image.width, image.height) > MAX_SIDE:
        return f"it has {image.width} x {image.height} pixels, and models take {MAX_SIDE} a side"
    if size > MAX_BYTES:
        return f"it has {size / 1e6:.1f} MB, and models take {MAX_BYTES / 1e6:.0f} MB"
    return ""


def _png(content: bytes) -> Image | None:
    if content[12:16] != b"IHDR":
        return None
    return Image("image/png", *struct.unpack_from(">II", content, 16))


def _gif(content: bytes) -> Image | None:
    if content[3:6] not in (b"87a", b"89a"):
        return None
    return Image("image/gif", *struct.unpack_from("<HH", content, 6))


def _jpeg(content: bytes) -> Image | None:
    at = 2
    while content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return Image("image/jpeg", width, height)
        (length,) = struct.unpack_from(">H", content, at + 2)
        at += 2 + length
    return None


def _webp(content: bytes) -> Image | None:
    if content[8:12] != b"WEBP":
        return None
    kind = content[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(content[24:27], "little") + 1
        height = int.from_bytes(content[27:30], "little") + 1
        return Image("image/webp", width, height) if len(content) >= 30 else None
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        return Image("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", content, 26)
        return Image("image/webp", width & 0x3FFF, height & 0x3FFF)
    return None


_KINDS: tuple[tuple[bytes, Callable[[bytes], Image | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"\xff\xd8\xff", _jpeg),
    (b"RIFF", _webp),
)
