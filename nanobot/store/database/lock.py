"""Allows one writer per database: a lock that names its holder and shows whether the previous
holder shut down cleanly.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import AbstractContextManager, suppress
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
        self._home, self._command = home, command
        self._path = home / name
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
        except (FileExistsError, NotADirectoryError) as error:
            raise StoreUnwritable(
                f"{home} is not a folder: move that file, or set NANOBOT_HOME"
            ) from error
        except OSError as error:
            raise self._no_home(error) from error
        self._fd = self._acquired()
        self.unclean = os.fstat(self._fd).st_size > 0
        try:
            self._sign()
        except StoreUnwritable:
            os.close(self._fd)
            raise

    def keep(self) -> None:
        """Acquire it again if its file was removed or replaced. Raises StoreLocked if another
        process was faster, and StoreUnwritable."""
        with suppress(OSError):
            if self._path.stat().st_ino == os.fstat(self._fd).st_ino:
                return
        fresh = self._acquired()
        os.close(self._fd)
        self._fd = fresh
        self._sign()

    def _acquired(self) -> int:
        """The descriptor of the locked file."""
        descriptor = self._opened()
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise self._no_file()
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(descriptor)
            os.close(descriptor)
            raise StoreLocked(str(self._home), holder.pid, holder.command) from None
        except (OSError, StoreUnwritable) as error:
            os.close(descriptor)
            if isinstance(error, StoreUnwritable):
                raise
            raise StoreUnwritable(
                f"{self._path} cannot be locked ({error.strerror}): "
                "the database has to be on a file system with locks"
            ) from error
        return descriptor

    def _opened(self) -> int:
        # A pipe would be waited for without O_NONBLOCK.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(self._path, flags, 0o600)
        except OSError as error:
            if os.path.lexists(self._path) and not self._path.is_file():
                raise self._no_file() from error
            raise self._no_home(error) from error

    def _no_home(self, error: OSError) -> StoreUnwritable:
        return StoreUnwritable(
            f"{self._home} cannot be written ({error.strerror}): "
            "check its permissions, or set NANOBOT_HOME to a folder you own"
        )

    def _no_file(self) -> StoreUnwritable:
        return StoreUnwritable(
            f"{self._path} is not a file: move it away; the lock of the database belongs there"
        )

    def _sign(self) -> None:
        self._write(msgspec.json.encode(_Holder(os.getpid(), self._command)))

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


def _read(descriptor: int) -> _Holder:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=_Holder)
    except msgspec.DecodeError:
        return _Holder(0, "unknown")
