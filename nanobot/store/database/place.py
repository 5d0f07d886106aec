"""Where a store's file lies: found again before each commit, so that nothing is committed to a file
that somebody has removed or replaced. SQLite would go on in it, and all of that would be lost.
"""

from __future__ import annotations

import time
from pathlib import Path

from nanobot.errors import StoreUnwritable
from nanobot.store.database.lock import HomeLock

_SECOND = 1_000_000_000
_FINE, _COARSE = _SECOND // 10, _SECOND * 5 // 2
"""In ns: how long after a change another one surely gets another time. Most file systems keep it in
steps of a clock tick, some in steps of up to two seconds."""


class Place:
    """The path of an open database, and the lock on it, if it is held while it is open."""

    def __init__(self, path: Path, lock: HomeLock | None = None) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._lock = lock
        self._file = _identity(path)
        self._logged: int | None = None
        self._folder = None if path.is_symlink() else path.parent
        self._looked: tuple[int, int] | None = None
        self._found: tuple[int, int] | None = None

    def may_have_changed(self) -> bool:
        """Whether something may have been made, removed or renamed beside the file since `found`.
        One look at the folder, because each look lets other threads have the interpreter: a look at
        every file before each commit took a fifth of a turn.
        """
        if self._folder is None:
            return True
        try:
            status = self._folder.stat()
        except OSError:
            self._looked = None
            return True
        changed = status.st_ctime_ns  # tools that copy folders set st_mtime back
        settled = time.time_ns() - changed > (_FINE if changed % _SECOND else _COARSE)
        self._looked = (status.st_ino, changed) if settled else None
        return self._looked is None or self._looked != self._found

    def found(self) -> None:
        """What `may_have_changed` looked at is as it should be."""
        self._found = self._looked

    def check(self) -> None:
        """Raises StoreUnwritable if the file is not there any more, and StoreLocked if somebody
        removed its lock and another process works on it."""
        if _identity(self._path) != self._file:
            raise StoreUnwritable(
                f"{self._path} was moved, removed or replaced while nanobot works on it: put it "
                "back, or restart nanobot to work on what is there now"
            )
        if self._lock is not None:
            self._lock.keep()

    def has_log(self) -> bool:
        """Whether the WAL is the one of the earlier commits. If not, a crash would lose what is in
        the open one."""
        log = _identity(self._log)
        if self._logged is None:
            self._logged = log
        return log == self._logged

    def forget_log(self) -> None:
        """The WAL will be another one."""
        self._logged = None


def _identity(path: Path) -> int | None:
    # As SQLite does: the device of a folder of another machine may get another number.
    try:
        return path.stat().st_ino
    except OSError:
        return None
