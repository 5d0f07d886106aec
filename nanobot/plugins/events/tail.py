"""The new lines of a log, through rotation, truncation and restarts. Nothing is held open."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from nanobot.plugins.events.sensor import SensorUnreadable

MOST_BYTES = 4 << 20
"""Of one log at once; of what is more, the rest comes with the next reading ..."""
FAR_BEHIND = 32 << 20
"""... unless it is more than this: then all but the last MOST_BYTES are passed over."""
LONGEST_LINE = 64 << 10
_MARK = 32


class LogCursor(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a log was read: of the file with this device and inode, up to `offset`, where the
    bytes before were `mark` (hexadecimal). Inode 0: there was no file."""

    device: int = 0
    inode: int = 0
    offset: int = 0
    mark: str = ""


class Chunk(msgspec.Struct, frozen=True):
    """New lines, without their ends, and the cursor after them. `passed_over`: bytes that were too
    many to be read. `there`: whether the log is."""

    lines: tuple[bytes, ...]
    cursor: LogCursor
    passed_over: int = 0
    there: bool = True
    size: int = 0


def new_lines(path: Path, cursor: LogCursor | None) -> Chunk:
    """What was written since `cursor`; nothing at first (None). Of a log that was moved away
    (rotated) the rest comes first, if it can be found beside it. Raises Unreadable."""
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
    # A pipe in its place must not be waited for.
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
        start = 0  # emptied, and perhaps written again
    passed_over = 0
    if size - start > FAR_BEHIND:
        passed_over = size - MOST_BYTES - start
        start += passed_over
    data = os.pread(descriptor, min(size - start, MOST_BYTES), start)
    if passed_over:
        # In the midst of a line.
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
    """What is left of the file that was here before, found by its inode among those that are
    called like it."""
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
