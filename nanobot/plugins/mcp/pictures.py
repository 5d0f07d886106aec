"""Images in servers' answers, checked before they are stored."""

from __future__ import annotations

import base64

import msgspec

from nanobot.workspace.images import MAX_BYTES, Image, look, too_large

MAX_PICTURES = 16
"""Maximum images stored from one answer; further ones are only mentioned in its text."""

# Base64 uses four characters for three bytes, and some servers break it into lines.
_MAX_CHARS = MAX_BYTES * 3 // 2


class Picture(msgspec.Struct, frozen=True):
    """An image of a kind that models accept. `mime` is determined from its bytes; `name` has its
    number, kind and size.
    """

    content: bytes
    mime: str
    name: str


class Pictures:
    """The images of one answer, in order."""

    def __init__(self) -> None:
        self.kept: list[Picture] = []

    def take(self, data: str, label: str) -> str:
        """Store the image in this base64 text if models accept it; returns the line that represents
        it in the text. `label` is the server's name for it.
        """
        try:
            picture = self._looked_at(data)
        except ValueError as error:
            return f"[{label}, {len(data) * 3 // 4:,} bytes, not shown: {error}]"
        self.kept.append(picture)
        return f"[image {picture.name}]"

    def _looked_at(self, data: str) -> Picture:
        """Raises ValueError that says why it is not shown."""
        if len(self.kept) >= MAX_PICTURES:
            raise ValueError(f"at most {MAX_PICTURES} pictures of a result are")
        if len(data) > _MAX_CHARS:
            raise ValueError(f"models take {MAX_BYTES / 1e6:.0f} MB")
        content = _decoded(data)
        image = look(content)
        if image is None:
            raise ValueError("it is not a JPEG, PNG, GIF or WebP picture")
        if why := too_large(image, len(content)):
            raise ValueError(why)
        return Picture(content, image.mime, _name(len(self.kept) + 1, image, len(content)))


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except ValueError as error:
        raise ValueError("its base64 is broken") from error


def _name(number: int, image: Image, size: int) -> str:
    kind = image.mime.removeprefix("image/").upper()
    return f"{number}: {kind}, {image.width} x {image.height} pixels, {size:,} bytes"
