"""Blobs: the content of files that came or go with messages, kept once under its sha256."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from nanobot.errors import BlobMissing, StoreUnwritable

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """A folder of blobs, `ab/abcdef...`, mode 0600. What `write` returned for is on the disk; a
    crash leaves at most a temporary file, which nothing reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def write(self, content: bytes) -> str:
        """Keep the content; returns its digest. Raises StoreUnwritable."""
        return await asyncio.to_thread(self._write, content)

    async def read(self, digest: str) -> bytes:
        """The content of that digest. Raises BlobMissing when it is not here, or damaged."""
        return await asyncio.to_thread(self._read, digest)

    async def remove(self, digests: Iterable[str]) -> int:
        """Forget these; returns how many there were."""
        return await asyncio.to_thread(self._remove, list(digests))

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise BlobMissing(f"{digest[:80]!r} is not the digest of a file")
        return self._folder / digest[:2] / digest

    def _write(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        try:
            if _holds(path, content):
                os.utime(path)  # it is in use again: see `remove`'s callers
                return digest
            for folder in (self._folder, path.parent):
                folder.mkdir(0o700, parents=True, exist_ok=True)
            _replace(path, content)
            for folder in (self._folder, path.parent):
                _sync(folder)
        except OSError as error:
            raise StoreUnwritable(
                f"a file of {len(content):,} bytes cannot be kept in {self._folder} "
                f"({error.strerror or error}): free some space there, or mend its permissions"
            ) from error
        return digest

    def _read(self, digest: str) -> bytes:
        try:
            content = self._path(digest).read_bytes()
        except OSError as error:
            raise BlobMissing(f"the file {digest[:12]} is not here any more") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise BlobMissing(f"the file {digest[:12]} is damaged on this disk")
        return content

    def _remove(self, digests: list[str]) -> int:
        removed = 0
        for digest in digests:
            with suppress(FileNotFoundError):
                self._path(digest).unlink()
                removed += 1
        return removed


class MemoryBlobs:
    """Blobs that are gone with this object."""

    def __init__(self) -> None:
        self._content: dict[str, bytes] = {}

    async def write(self, content: bytes) -> str:
        """Keep the content; returns its digest."""
        digest = hashlib.sha256(content).hexdigest()
        self._content[digest] = content
        return digest

    async def read(self, digest: str) -> bytes:
        """The content of that digest. Raises BlobMissing when it is not here."""
        if digest not in self._content:
            raise BlobMissing(f"the file {digest[:12]} is not here any more")
        return self._content[digest]


def _holds(path: Path, content: bytes) -> bool:
    """Whether the file is there and whole: one that was damaged is written anew."""
    with suppress(OSError):
        return path.read_bytes() == content
    return False


def _replace(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """A new name is on the disk only once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
