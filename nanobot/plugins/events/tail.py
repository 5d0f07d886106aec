"""Reads the new lines of a log across rotation, truncation and restarts. No file is held open."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from nanobot.plugins.events.sensor import SensorUnreadable

MOST_BYTES = 4 << 20
"""Maximum bytes per reading of one log; the rest follows with the next reading ..."""
FAR_BEHIND = 32 << 20
"""... unless more than this is left: then all but the last MOST_BYTES are skipped."""
LONGEST_LINE = 64 << 10
_MARK = 32


class LogCursor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position in a log: `offset` in the file with this device and inode, preceded by the bytes
    `mark` (hexadecimal). Inode 0: the file did not exist.
    """

    device: int = 0
    inode: int = 0
    offset: int = 0
    mark: str = ""


class Chunk(msgspec.Struct, frozen=True):
    """New lines without line ends, and the cursor after them. `passed_over`: how many bytes were
    skipped because there were too many. `there`: whether the log exists.
    """

    lines: tuple[bytes, ...]
    cursor: LogCursor
    passed_over: int = 0
    there: bool = True
    size: int = 0


def new_lines(path: Path, cursor: LogCursor | None) -> Chunk:
    """The lines written since `cursor`; none the first time (None). If the log was rotated, the
    rest of the old file comes first, if that file is found in the same folder. Raises Unreadable.
    """
    try:
        return _new_lines(path, cursor)
    except FileNotFoundError:
        rest = _rest(path, cursor) if cursor is not None and cursor.inode else None
        if rest is not None and rest.lines:
            return msgspec.structs.replace(rest, there=False)
        return Chunk((), LogCursor(), there=False)
    except OSError as error:
        raise SensorUnreadable(f"{path} cannot be read: {error.strerror}") from None


def _new_lines(path: Path, cursor: LogCursor | None) -> Chunk:
    # If the file was replaced by a pipe, do not wait for it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SensorUnreadable(f"{path} is no file")
        identity = (status.st_dev, status.st_ino)
        if cursor is None:
            size = status.st_size
            return Chunk((), _at(descriptor, identity, size), size=size)
        if cursor.inode and identity != (cursor.device, cursor.inode):
            rest = _rest(path, cursor)
            if rest is not None and (rest.lines or rest.passed_over):
                return rest
        return _read(descriptor, status, cursor)
    finally:
        os.close(descriptor)


def _read(descriptor: int, status: os.stat_result, cursor: LogCursor) -> Chunk:
    identity, size = (status.st_dev, status.st_ino), status.st_size
    start = cursor.offset if identity == (cursor.device, cursor.inode) else 0
    if start > size or (start and cursor.mark != _at(descriptor, identity, start).mark):
        start = 0  # truncated, and possibly written again
    passed_over = 0
    if size - start > FAR_BEHIND:
        passed_over = size - MOST_BYTES - start
        start += passed_over
    data = os.pread(descriptor, min(size - start, MOST_BYTES), start)
    if passed_over:
        # In the middle of a line.
        cut = data.find(b"\n") + 1
        start, data, passed_over = start + cut, data[cut:], passed_over + cut
    end = data.rfind(b"\n") + 1
    if len(data) - end > LONGEST_LINE:
        end = len(data)
    cursor = _at(descriptor, identity, start + end)
    return Chunk(tuple(_lines(data[:end])), cursor, passed_over, size=size)


def _lines(data: bytes) -> Iterator[bytes]:
    for line in data.split(b"\n"):
        if line:
            yield line[:LONGEST_LINE].rstrip(b"\r")


def _at(descriptor: int, identity: tuple[int, int], offset: int) -> LogCursor:
    length = min(_MARK, offset)
    mark = os.pread(descriptor, length, offset - length).hex()
    return LogCursor(*identity, offset, mark)


def _rest(path: Path, cursor: LogCursor) -> Chunk | None:
    """The unread rest of the previous file, found by its inode among files with similar names."""
    for other in sorted(path.parent.glob(f"{_escaped(path.name)}*")):
        try:
            status = other.lstat()
            if (status.st_dev, status.st_ino) != (cursor.device, cursor.inode):
                continue
            descriptor = os.open(other, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            return _read(descriptor, os.fstat(descriptor), cursor)
        finally:
            os.close(descriptor)
    return None


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
