"""Blobs: the content of files received or sent with messages, each stored once under its sha256."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import aiofiles
import aiofiles.os

from nanobot.errors import BlobMissing, StoreUnwritable
from nanobot.text import pattern

_fsync, _utime = aiofiles.os.wrap(os.fsync), aiofiles.os.wrap(os.utime)
_DIGEST = pattern(r"[0-9a-f]{64}")


class Blobs:
    """A folder of blobs, `ab/abcdef...`, mode 0600. Content is on the disk when `write` returns; a
    crash leaves at most a temporary file that nothing reads.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def write(self, content: bytes) -> str:
        """Keep the content; returns its digest. Raises StoreUnwritable."""
        digest = await asyncio.to_thread(digest_of, content)
        path = self._path(digest)
        try:
            if await _holds(path, content):
                await _utime(path)  # it is in use again: see the callers of `remove`
                return digest
            for folder in (self._folder, path.parent):
                await aiofiles.os.makedirs(folder, 0o700, exist_ok=True)
            await _replace(path, content)
            for folder in (self._folder, path.parent):
                await _sync(folder)
        except OSError as error:
            raise StoreUnwritable(
                f"a file of {len(content):,} bytes cannot be kept in {self._folder} "
                f"({error.strerror or error}): free some space there, or mend its permissions"
            ) from error
        return digest

    async def read(self, digest: str) -> bytes:
        """The content with that digest. Raises BlobMissing if it is missing or damaged."""
        try:
            async with aiofiles.open(self._path(digest), "rb") as file:
                content = await file.read()
        except OSError as error:
            raise BlobMissing(f"the file {digest[:12]} is not here any more") from error
        if await asyncio.to_thread(digest_of, content) != digest:
            raise BlobMissing(f"the file {digest[:12]} is damaged on this disk")
        return content

    async def remove(self, digests: Iterable[str]) -> int:
        """Delete these blobs; returns how many existed."""
        removed = 0
        for digest in digests:
            with suppress(FileNotFoundError):
                await aiofiles.os.unlink(self._path(digest))
                removed += 1
        return removed

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise BlobMissing(f"{digest[:80]!r} is not the digest of a file")
        return self._folder / digest[:2] / digest


def digest_of(content: bytes) -> str:
    """The digest under which content is stored."""
    return hashlib.sha256(content).hexdigest()


async def _holds(path: Path, content: bytes) -> bool:
    """Whether the file exists and is intact; a damaged one is written again."""
    with suppress(OSError):
        async with aiofiles.open(path, "rb") as file:
            return await file.read() == content
    return False


async def _replace(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        async with aiofiles.open(unfinished, "xb", opener=_private) as file:
            await file.write(content)
            await file.flush()
            await _fsync(file.fileno())
        await aiofiles.os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


async def _sync(folder: Path) -> None:
    """A new name is durable only after its folder is synced."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        await _fsync(descriptor)
    finally:
        os.close(descriptor)
