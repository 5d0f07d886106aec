"""What a power cut takes from SQLite's log: everything behind some byte of it.

The format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

from pathlib import Path

_HEADER, _FRAME_HEADER = 32, 24


def commits(wal: bytes) -> list[int]:
    """Where each commit in a log ends, in bytes. Frames of an older log do not count."""
    page = int.from_bytes(wal[8:12], "big")
    salts, ends = wal[16:24], []
    for start in range(_HEADER, len(wal) - _FRAME_HEADER - page + 1, _FRAME_HEADER + page):
        header = wal[start : start + _FRAME_HEADER]
        if header[8:16] != salts:
            break
        if int.from_bytes(header[4:8], "big"):  # the size of the database after a commit
            ends.append(start + _FRAME_HEADER + page)
    return ends


def lose_last_commit(store: Path) -> None:
    """Take the last commit from the log of a store that no process has open."""
    log = store.with_name(f"{store.name}-wal")
    content = log.read_bytes()
    ends = commits(content)
    log.write_bytes(content[: ends[-2] if len(ends) > 1 else 0])
    store.with_name(f"{store.name}-shm").unlink(missing_ok=True)
