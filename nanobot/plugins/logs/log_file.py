"""The log file of a gateway in its home: `logs/gateway.log` and its predecessor."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_MOST_BYTES = 5_000_000
# A pipe without a reader would be waited for, and with it everything else.
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK


def kept_elsewhere(environ: Mapping[str, str], file: Path) -> bool:
    """Whether standard error is stored already: by journald, or in this very file."""
    if environ.get("JOURNAL_STREAM"):
        return True
    with suppress(OSError, ValueError):
        return os.path.samestat(os.fstat(sys.stderr.fileno()), file.stat())
    return False


class LogFile:
    """Writes log lines. Beyond its size limit the file is renamed to `gateway.log.1`, replacing the
    previous one. If the disk refuses a line, only that line is lost.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def write(self, text: str) -> None:
        """One message, as formatted by the log."""
        line = text.encode("utf-8", "replace")
        with suppress(OSError):
            opened = self._opened()
            try:
                while line:
                    line = line[os.write(opened, line) :]
                size = os.fstat(opened).st_size
            finally:
                os.close(opened)
            if size > _MOST_BYTES:
                self._file.replace(self._file.with_name(f"{self._file.name}.1"))

    def _opened(self) -> int:
        """Opened for each line: it may have been moved or removed."""
        try:
            return os.open(self._file, _APPEND, 0o666)
        except FileNotFoundError:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self._file, _APPEND, 0o666)
