"""Standard input, if it is not a terminal: the message, or its context."""

from __future__ import annotations

import select
import stat
import sys
from os import fstat

from nanobot.plugins.common.commands.output import warn

MOST_BYTES = 200_000
"""The most bytes that a message includes."""
_QUIET_SECONDS, _PATIENCE_SECONDS = 3.0, 10.0


def piped(message: str | None) -> str | None:
    """The message followed by the piped input; None if there is neither. Excess input is left out;
    the message says so, and so does a line on standard error.
    """
    if sys.stdin is None:  # closed
        return message or ""
    if sys.stdin.isatty() or (message is not None and not _something_comes()):
        return message
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    text = data[:MOST_BYTES].decode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        note = f"standard input was cut after {MOST_BYTES:,} bytes"
        warn(f"nanobot: {note}; the rest was left out")
        text = f"{text}\n[{note}]"
    if message is None or not text.strip():
        return text if message is None else message
    return f"{message}\n\n{text}"


def _something_comes() -> bool:
    """Whether there is input to wait for. A pipe that was left open sends nothing."""
    descriptor = sys.stdin.fileno()
    mode = fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return True
    if select.select([descriptor], [], [], _QUIET_SECONDS)[0]:
        return True
    warn("nanobot: waiting for standard input; with `< /dev/null` there is nothing to wait for")
    if select.select([descriptor], [], [], _PATIENCE_SECONDS - _QUIET_SECONDS)[0]:
        return True
    warn(f"nanobot: nothing came by it for {_PATIENCE_SECONDS:g} s; going on without")
    return False
