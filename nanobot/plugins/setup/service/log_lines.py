"""Reads the log file of a gateway, with its predecessor."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

_LOOK_SECONDS = 0.5


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
