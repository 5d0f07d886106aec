"""The files that old log entries are archived to: one file of lines per session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import msgspec

from nanobot.errors import StoreUnwritable
from nanobot.session.chain import payload_digest
from nanobot.supervision import to_its_end

_LONGEST_NAME = 200


class ArchivedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of an archive: a row of the log as the chain was computed over it, its bytes in
    base64. An erased line has neither salt nor payload; the chain holds without them.
    """

    session_key: str
    seq: int
    run_id: str
    kind: str
    at: float
    salt: str
    payload: str
    digest: str
    hash: str


class Archives:
    """The archive files in `folder`, mode 0600. When a method returns, its changes are on the disk.
    Methods raise StoreUnwritable.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writing = asyncio.Lock()

    async def append(self, key: str, entries: tuple[ArchivedEntry, ...]) -> None:
        """Append the entries that the session's file lacks."""
        async with self._writing:
            await to_its_end(partial(_append, self.folder / file_name(key), entries))

    async def erase(self, key: str, numbers: Collection[int]) -> None:
        """Erase the contents of these entries of a session."""
        async with self._writing:
            file, erased = self.folder / file_name(key), frozenset(numbers)
            await to_its_end(partial(_erase, file, erased))

    async def remove(self, key: str) -> None:
        """Delete the file of a session."""
        async with self._writing:
            await to_its_end(partial(_remove, self.folder / file_name(key)))


def file_name(key: str) -> str:
    """A file name for a session. The key can be read from it unless it is very long."""
    name = quote(key, safe="")
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}.{payload_digest(b'', key.encode()).hex()[:16]}"
    return f"{name}.jsonl"


def _append(path: Path, entries: tuple[ArchivedEntry, ...]) -> None:
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            last = _last(file)
            # A log that was deleted and started again reuses the numbers of the previous one.
            archived = [at for at, entry in enumerate(entries, 1) if entry.hash == last]
            for entry in entries[max(archived, default=0) :]:
                file.write(msgspec.json.encode(entry) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        _sync(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def _last(file: BinaryIO) -> str:
    """The hash of the last readable entry of an archive. The file is truncated after its last
    complete line: the rest was left by a crash.
    """
    last, end = "", 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        end += len(line)
        entry = _read(line)
        last = last if entry is None else entry.hash
    file.seek(end)
    file.truncate()
    return last


def _erase(path: Path, numbers: frozenset[int]) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        with path.open("rb") as source:
            seen = {entry.seq for line in source if (entry := _read(line)) is not None}
            hidden = bool(numbers - seen)
            source.seek(0)
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as target:
                for line in source:
                    target.write(_without(line, numbers, drop_unreadable=hidden))
                target.flush()
                os.fsync(target.fileno())
        part.replace(path)
        _sync(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def _read(line: bytes) -> ArchivedEntry | None:
    """The entry on a line; None if a crash cut the line off, or its bytes are damaged."""
    try:
        return msgspec.json.decode(line, type=ArchivedEntry)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _without(line: bytes, numbers: frozenset[int], *, drop_unreadable: bool) -> bytes:
    """The line without the contents of these entries. `drop_unreadable`: some of the entries are on
    no readable line, so a damaged line may contain one.
    """
    entry = _read(line)
    if entry is None:
        return b"" if drop_unreadable and line.endswith(b"\n") else line
    if entry.seq not in numbers:
        return line
    return msgspec.json.encode(msgspec.structs.replace(entry, salt="", payload="")) + b"\n"


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            _sync(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> StoreUnwritable:
    return StoreUnwritable(f"{path} cannot be written: {error.strerror or error}")
