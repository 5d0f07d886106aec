"""Pictures as people and models are told of them."""

from __future__ import annotations

from nanobot.workspace.images import look

_NAMES = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"\xff\xd8\xff": "JPEG",
}


def described(head: bytes, size: int) -> str | None:
    """The kind and size of the picture that begins with these bytes, for people: "a PNG image, 640
    x 480 pixels, 9 bytes". None for everything else."""
    names = (name for signature, name in _NAMES.items() if head.startswith(signature))
    name = "WebP" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else next(names, "")
    if not name:
        return None
    image = look(head)
    shape = "of unknown extent" if image is None else f"{image.width} x {image.height} pixels"
    return f"a {name} image, {shape}, {size:,} bytes"
