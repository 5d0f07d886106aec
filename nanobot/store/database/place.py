"""Where a store's file lies: found again before each commit, so that nothing is committed to a file
that somebody has removed or replaced. SQLite would go on in it, and all of that would be lost.
"""

from __future__ import annotations

from pathlib import Path

from nanobot.errors import StoreUnwritable
from nanobot.store.database.lock import HomeLock


class Place:
    """The path of an open database, and the lock on it, if it is held while it is open."""

    def __init__(self, path: Path, lock: HomeLock | None = None) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._lock = lock
        self._file = _identity(path)
        self._logged: int | None = None

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
