"""Blobs in memory, for programs that keep no files of messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nanobot.errors import BlobMissing
from nanobot.workspace.blobs import Blobs, digest_of


class MemoryBlobs(Blobs):
    """They are lost with this object."""

    def __init__(self) -> None:
        super().__init__(Path())
        self._content: dict[str, bytes] = {}

    async def write(self, content: bytes) -> str:
        digest = digest_of(content)
        self._content[digest] = content
        return digest

    async def read(self, digest: str) -> bytes:
        if digest not in self._content:
            raise BlobMissing(f"the file {digest[:12]} is not here any more")
        return self._content[digest]

    async def remove(self, digests: Iterable[str]) -> int:
        return sum(self._content.pop(digest, None) is not None for digest in digests)
