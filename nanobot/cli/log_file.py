"""The log file of a gateway in its home: `logs/gateway.log` and its predecessor."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TextIO

_MOST_BYTES = 5_000_000
_LOOK_SECONDS = 0.5
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


def log_file_of(home: Path) -> Path:
    """Its path, if it exists."""
    return home / "logs" / "gateway.log"


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


def last_lines(file: Path, count: int) -> list[str]:
    """The newest lines, including those of the previous file. Raises OSError if neither can be
    read.
    """
    lines: deque[str] = deque(maxlen=count)
    with suppress(FileNotFoundError), _open(file.with_name(f"{file.name}.1")) as before:
        lines.extend(before)
    with _open(file) as now:
        lines.extend(now)
    return [line.rstrip("\n") for line in lines]


def following(
    file: Path, sleep: Callable[[float], None] = time.sleep
) -> Generator[str, None, None]:
    """New lines from now on, including those of a file that replaces this one."""
    reader, rest = _open(file), ""
    reader.seek(0, os.SEEK_END)
    try:
        while True:
            rest += reader.read()
            *lines, rest = rest.split("\n")
            yield from lines
            with suppress(FileNotFoundError):
                if not os.path.samestat(os.fstat(reader.fileno()), file.stat()):
                    yield from reader.read().splitlines()
                    reader.close()
                    reader = _open(file)
                    continue
            sleep(_LOOK_SECONDS)
    finally:
        reader.close()


def _open(file: Path) -> TextIO:
    return file.open(encoding="utf-8", errors="replace")
