"""Allows one writer per database: a lock that names its holder and shows whether the previous
holder shut down cleanly.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from nanobot.errors import StoreLocked, StoreUnwritable


class _Holder(msgspec.Struct):
    pid: int
    command: str


class HomeLock(AbstractContextManager["HomeLock"]):
    """The lock on a home's database, a file next to it. Raises StoreLocked, which names the holder,
    and StoreUnwritable if the lock cannot be acquired.

    `unclean` is True if the previous holder did not release the lock (it crashed, or power failed).
    """

    def __init__(self, home: Path, command: str, name: str = "state.lock") -> None:
        self._path = home / name
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except (FileExistsError, NotADirectoryError) as error:
            raise StoreUnwritable(
                f"{home} is not a folder: move that file, or set NANOBOT_HOME"
            ) from error
        except OSError as error:
            raise StoreUnwritable(
                f"{home} cannot be written ({error.strerror}): "
                "check its permissions, or set NANOBOT_HOME to a folder you own"
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._read()
            os.close(self._fd)
            raise StoreLocked(str(home), holder.pid, holder.command) from None
        self.unclean = os.fstat(self._fd).st_size > 0
        try:
            self._write(msgspec.json.encode(_Holder(os.getpid(), command)))
        except StoreUnwritable:
            os.close(self._fd)
            raise

    def _read(self) -> _Holder:
        try:
            return msgspec.json.decode(os.pread(self._fd, 4096, 0), type=_Holder)
        except msgspec.DecodeError:
            return _Holder(0, "unknown")

    def _write(self, content: bytes) -> None:
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, content, 0)
        except OSError as error:
            raise StoreUnwritable(f"{self._path} cannot be written: {error.strerror}") from error

    def release(self, *, clean: bool = True) -> None:
        """Release the lock. After a clean shutdown the next holder need not check anything."""
        try:
            if clean:
                self._write(b"")
        finally:
            os.close(self._fd)

    def __exit__(self, *_: object) -> None:
        self.release()
